//go:build !nodevchain

package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// walletAmount is what the wallet of a new chain has, in micro-USDG.
const walletAmount = 10_000_000_000

// found puts the token on a chain that is new, and money into its wallet. The address of the token follows from the account that makes
// it, so a chain that was killed halfway goes on where it was.
func (c *Chain) found(ctx context.Context) error {
	owner := c.keys.owner
	c.token = crypto.CreateAddress(owner.address(), 0)
	nonce, err := c.client.NonceAt(ctx, owner.address(), nil)
	if err != nil {
		return err
	}
	code, err := hexutil.Decode(TestUSDGMetaData.Bin)
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	steps := []struct {
		to   *common.Address
		data []byte
	}{{nil, code}, {&c.token, c.usdg.PackMint(c.keys.wallet.address(), big.NewInt(walletAmount))}}
	var hashes []common.Hash
	for n := int(nonce); n < len(steps); n++ { // in one block
		const gas = 3_000_000
		hash, err := c.sendAt(ctx, owner, steps[n].to, steps[n].data, uint64(n), gas)
		if err != nil {
			return err
		}
		hashes = append(hashes, hash)
	}
	gas := c.keys.gas().address()
	balance, err := c.client.BalanceAt(ctx, gas, nil)
	if err != nil {
		return err
	}
	if balance.Sign() == 0 {
		hash, err := c.send(ctx, owner, &gas, nil, max(nonce, uint64(len(steps))), params.TxGas, big.NewInt(params.Ether))
		if err != nil {
			return err
		}
		hashes = append(hashes, hash)
	}
	for _, hash := range hashes {
		if _, err := c.wait(ctx, hash); err != nil {
			return err
		}
	}
	return nil
}

// Authorize signs what an account allows, as a wallet does.
func (c *Chain) Authorize(from Account, a Authorization) (signature [65]byte, err error) {
	return authorize(c.ID(), c.Token(), from, a)
}

// Authorize signs what an account allows a token of a chain of this package with the id ChainID.
func Authorize(token string, from Account, a Authorization) (signature [65]byte, err error) {
	return authorize(ChainID, token, from, a)
}

func authorize(chain int64, token string, from Account, a Authorization) (signature [65]byte, err error) {
	const kind = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
	return signTyped(chain, token, from, kind, addressWord(from.Address), addressWord(a.To), numberWord(a.Value),
		numberWord(uint64(a.After)), numberWord(uint64(a.Before)), a.Nonce[:])
}

// signTyped signs a message for a token by EIP-712.
func signTyped(chain int64, token string, from Account, kind string, words ...[]byte) (signature [65]byte, err error) {
	secret, err := crypto.ToECDSA(common.FromHex(from.PrivateKey))
	if err != nil {
		return signature, errors.New("the account has no key")
	}
	hash := func(s string) []byte { return crypto.Keccak256([]byte(s)) }
	domain := crypto.Keccak256(hash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
		hash(TokenName), hash(TokenVersion), numberWord(uint64(chain)), addressWord(token))
	message := crypto.Keccak256(append([][]byte{hash(kind)}, words...)...)
	signed, err := crypto.Sign(crypto.Keccak256([]byte{0x19, 1}, domain, message), secret)
	if err != nil {
		return signature, err
	}
	copy(signature[:], signed)
	signature[64] += 27 // as wallets spell it
	return signature, nil
}

func numberWord(n uint64) []byte { return common.BigToHash(new(big.Int).SetUint64(n)).Bytes() }

func addressWord(text string) []byte {
	return common.BytesToHash(common.HexToAddress(text).Bytes()).Bytes()
}

// Settle submits what an account allows, in a transaction of another, and waits for the block.
func (c *Chain) Settle(ctx context.Context, by, from Account, a Authorization) (hash [32]byte, err error) {
	s, err := c.Authorize(from, a)
	if err != nil {
		return hash, err
	}
	return c.Call(ctx, by, c.Token(), c.usdg.PackTransferWithAuthorization(common.HexToAddress(from.Address), common.HexToAddress(a.To),
		new(big.Int).SetUint64(a.Value), big.NewInt(a.After), big.NewInt(a.Before), a.Nonce, s[64], [32]byte(s[:32]), [32]byte(s[32:64])))
}

// Cancel has an account take back what it has allowed.
func (c *Chain) Cancel(ctx context.Context, from Account, nonce [32]byte) error {
	s, err := signTyped(c.ID(), c.Token(), from, "CancelAuthorization(address authorizer,bytes32 nonce)", addressWord(from.Address),
		nonce[:])
	if err != nil {
		return err
	}
	_, err = c.Call(ctx, from, c.Token(), c.usdg.PackCancelAuthorization(common.HexToAddress(from.Address), nonce, s[64],
		[32]byte(s[:32]), [32]byte(s[32:64])))
	return err
}

// Transfer sends amount micro-USDG from an account to an address, with more behind the parameters, and waits for the block. It returns
// the hash of the transaction. A transfer that reverts is an error, and its hash comes with it.
func (c *Chain) Transfer(ctx context.Context, from Account, to string, amount int64, more []byte) (hash [32]byte, err error) {
	return c.Call(ctx, from, c.Token(), append(c.usdg.PackTransfer(common.HexToAddress(to), big.NewInt(amount)), more...))
}

// Call sends a transaction with the given calldata and waits for the block.
func (c *Chain) Call(ctx context.Context, from Account, to string, data []byte) (hash [32]byte, err error) {
	raw, err := hexutil.Decode(from.PrivateKey)
	if err != nil {
		return hash, errors.New("the account has no key")
	}
	secret, err := crypto.ToECDSA(raw)
	if err != nil {
		return hash, errors.New("the account has no key")
	}
	nonce, err := c.client.PendingNonceAt(ctx, crypto.PubkeyToAddress(secret.PublicKey))
	if err != nil {
		return hash, err
	}
	const gas = 500_000
	target := common.HexToAddress(to)
	hash, err = c.sendAt(ctx, key{secret}, &target, data, nonce, gas)
	if err != nil {
		return hash, err
	}
	receipt, err := c.wait(ctx, hash)
	if err == nil && receipt.Status != types.ReceiptStatusSuccessful {
		err = errors.New("the transaction reverted")
	}
	return hash, err
}

// Owner is the account that owns the token: it mints, pauses and freezes.
func (c *Chain) Owner() Account { return c.keys.owner.account() }

// NewAccount makes an account with ether and amount micro-USDG.
func (c *Chain) NewAccount(ctx context.Context, amount int64) (Account, error) {
	list, err := c.NewAccounts(ctx, 1, amount)
	if err != nil {
		return Account{}, err
	}
	return list[0], nil
}

// NewAccounts makes so many accounts, each with ether and amount micro-USDG, in as few blocks as will do.
func (c *Chain) NewAccounts(ctx context.Context, n int, amount int64) ([]Account, error) {
	nonce, err := c.client.PendingNonceAt(ctx, c.keys.owner.address())
	if err != nil {
		return nil, err
	}
	const mintGas = 100_000
	var list []Account
	var last common.Hash
	for range n {
		secret, err := crypto.GenerateKey()
		if err != nil {
			return nil, err
		}
		k := key{secret}
		list = append(list, k.account())
		target := k.address()
		if last, err = c.send(ctx, c.keys.owner, &target, nil, nonce, params.TxGas, big.NewInt(params.Ether)); err != nil {
			return nil, err
		}
		if nonce++; amount == 0 {
			continue
		}
		if last, err = c.sendAt(ctx, c.keys.owner, &c.token, c.usdg.PackMint(target, big.NewInt(amount)), nonce, mintGas); err != nil {
			return nil, err
		}
		nonce++
	}
	_, err = c.wait(ctx, last)
	return list, err
}

// Mint makes amount micro-USDG and gives them to an address.
func (c *Chain) Mint(ctx context.Context, to string, amount int64) error {
	_, err := c.Call(ctx, c.Owner(), c.Token(), c.usdg.PackMint(common.HexToAddress(to), big.NewInt(amount)))
	return err
}

// sendAt sends a transaction without ether.
func (c *Chain) sendAt(ctx context.Context, from key, to *common.Address, data []byte, nonce, gas uint64) (common.Hash, error) {
	return c.send(ctx, from, to, data, nonce, gas, new(big.Int))
}

func (c *Chain) send(
	ctx context.Context, from key, to *common.Address, data []byte, nonce, gas uint64, value *big.Int,
) (common.Hash, error) {
	head, err := c.client.HeaderByNumber(ctx, nil)
	if err != nil {
		return common.Hash{}, err
	}
	tx, err := types.SignNewTx(from.secret, types.LatestSignerForChainID(big.NewInt(c.ID())), &types.DynamicFeeTx{
		ChainID: big.NewInt(c.ID()), Nonce: nonce, To: to, Value: value, Data: data,
		Gas: gas, GasTipCap: big.NewInt(1), GasFeeCap: new(big.Int).Lsh(head.BaseFee, 1),
	})
	if err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), c.client.SendTransaction(ctx, tx)
}

func (c *Chain) wait(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	const poll = 2 * time.Millisecond
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		receipt, err := c.client.TransactionReceipt(ctx, hash)
		if err == nil {
			return receipt, nil
		}
		if !errors.Is(err, ethereum.NotFound) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// Freeze lets an address neither send nor receive, or lets it again.
func (c *Chain) Freeze(ctx context.Context, address string, stop bool) error {
	_, err := c.Call(ctx, c.Owner(), c.Token(), c.usdg.PackSetFrozen(common.HexToAddress(address), stop))
	return err
}

// Pause stops all transfers, or lets them go on.
func (c *Chain) Pause(ctx context.Context, stop bool) error {
	_, err := c.Call(ctx, c.Owner(), c.Token(), c.usdg.PackSetPaused(stop))
	return err
}

// Balance is what an address has, in micro-USDG.
func (c *Chain) Balance(ctx context.Context, address string) (int64, error) {
	answer, err := c.client.CallContract(ctx, ethereum.CallMsg{To: &c.token, Data: c.usdg.PackBalanceOf(common.HexToAddress(address))}, nil)
	if err != nil {
		return 0, err
	}
	n, err := c.usdg.UnpackBalanceOf(answer)
	if err != nil {
		return 0, err
	}
	return n.Int64(), nil
}
