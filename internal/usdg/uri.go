package usdg

import "fmt"

// PaymentURI is the EIP-681 form of a transfer, which wallets read from a link or a QR code. It can carry no calldata of its own.
func PaymentURI(token string, chainID int64, recipient string, amount Amount) string {
	return fmt.Sprintf("ethereum:%s@%d/transfer?address=%s&uint256=%d", token, chainID, recipient, int64(amount))
}
