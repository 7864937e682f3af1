package usdg

import (
	"fmt"
	"strings"
)

// PaymentURI is the EIP-681 form of a transfer, which wallets read from a link or a QR code. It can carry no calldata of its own.
func PaymentURI(token string, chainID int64, recipient string, amount Amount) string {
	return fmt.Sprintf("ethereum:%s@%d/transfer?address=%s&uint256=%d", token, chainID, recipient, int64(amount))
}

// TransferData is the calldata of a transfer with a nonce behind its parameters, in hexadecimal, for wallets that are given the data of a
// transaction to the token. recipient is an address and nonce 32 bytes, both with 0x.
func TransferData(recipient string, amount Amount, nonce string) string {
	return "0xa9059cbb" + strings.Repeat("0", 24) + strings.ToLower(strings.TrimPrefix(recipient, "0x")) +
		fmt.Sprintf("%064x", int64(amount)) + strings.TrimPrefix(nonce, "0x")
}
