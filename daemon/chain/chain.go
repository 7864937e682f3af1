package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
)

// Config is what a Client needs.
type Config struct {
	x402.Rail
	Wait   time.Duration                  // for a transaction to be in a block; 0 means DefaultWait
	HTTP   *http.Client                   // nil means one of its own with bounded time
	OnCall func(method string, err error) // is told of every call of the node; nil means nobody
	Now    func() time.Time               // nil means time.Now
}

// Bounds of a Client.
const (
	DefaultWait = 10 * time.Second
	callTimeout = 10 * time.Second // for one answer of the node
	firstPoll   = 250 * time.Millisecond
)

// ErrNoAnswer says that the node could not be asked, or did not know.
var ErrNoAnswer = errors.New("ask chain")

// Client reads one chain. Make one with New; it is safe for concurrent use.
type Client struct {
	cfg      Config
	token    common.Address
	treasury common.Address
	rpc      *rpc.Client
	lookups  *lookups

	confirmed atomic.Uint64 // the newest block that is known to have its confirmations
	usual     atomic.Int64  // nanoseconds after which a transaction that was sent is first looked for; 0 for the least
}

// New makes a Client. It asks the node for nothing: Check does that.
func New(ctx context.Context, cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, lookups: newLookups()}
	for _, a := range []struct {
		name, text string
		into       *common.Address
	}{{"token", cfg.Token, &c.token}, {"treasury", cfg.Treasury, &c.treasury}} {
		spelled, err := Checksum(a.text)
		if err != nil {
			return nil, fmt.Errorf("chain: %s %q: %w", a.name, a.text, err)
		}
		*a.into = common.HexToAddress(spelled)
	}
	if err := CheckURL(cfg.RPCURL); err != nil {
		return nil, err
	}
	if c.cfg.HTTP == nil {
		c.cfg.HTTP = &http.Client{Timeout: callTimeout}
	}
	if c.cfg.Wait == 0 {
		c.cfg.Wait = DefaultWait
	}
	if c.cfg.Now == nil {
		c.cfg.Now = time.Now
	}
	var err error
	if c.rpc, err = rpc.DialOptions(ctx, cfg.RPCURL, rpc.WithHTTPClient(c.cfg.HTTP)); err != nil {
		return nil, errors.New("chain: the RPC URL cannot be used")
	}
	return c, nil
}

// CheckURL refuses what is no address of a node, without repeating it: it may hold a secret.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("chain: the RPC URL is not like https://rpc.example.org")
	}
	return nil
}

// Close ends the connections and whatever waits for a transaction. It is called once.
func (c *Client) Close() {
	close(c.lookups.closed)
	c.rpc.Close()
}

// redact is err without the URL of the node, which may hold a key.
func (c *Client) redact(err error) error {
	if err == nil {
		return nil
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%w: %w", ErrNoAnswer, ended)
		}
	}
	return fmt.Errorf("%w: %s", ErrNoAnswer, usdg.RedactRPC(err, c.cfg.RPCURL))
}

func (c *Client) call(ctx context.Context, result any, method string, params ...any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.redact(c.rpc.CallContext(ctx, result, method, params...))
	c.observe(method, err)
	return err
}

func (c *Client) observe(method string, err error) {
	if c.cfg.OnCall != nil {
		c.cfg.OnCall(method, err)
	}
}

// Check reports what is wrong with the chain or its configuration, with what to do about it: another chain, no token, a token with
// other decimals, a treasury that cannot be right, a clock that differs.
func (c *Client) Check(ctx context.Context) error {
	var id hexutil.Big
	if err := c.call(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if have := (*big.Int)(&id); !have.IsInt64() || have.Int64() != c.cfg.ChainID {
		return fmt.Errorf("the node serves chain %s, the configuration says %d: correct %s or %s", have, c.cfg.ChainID,
			c.setting("id"), c.setting("rpc_url"))
	}
	if c.treasury == (common.Address{}) || c.treasury == c.token {
		return fmt.Errorf("the treasury is the zero address or the token: correct %s", c.setting("treasury"))
	}
	var code hexutil.Bytes
	if err := c.call(ctx, &code, "eth_getCode", c.token, "latest"); err != nil {
		return err
	}
	if len(code) == 0 {
		return fmt.Errorf("there is no contract at %s on chain %d: correct %s", c.token, c.cfg.ChainID, c.setting("token"))
	}
	decimals, err := c.read(ctx, "0x313ce567", latest)
	if err != nil {
		return err
	}
	if !decimals.IsInt64() || decimals.Int64() != usdg.Decimals {
		return fmt.Errorf("the token at %s has %s decimals, not %d: correct %s", c.token, decimals, usdg.Decimals, c.setting("token"))
	}
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	const most = 10 * time.Minute
	if skew := head.At.Sub(c.cfg.Now()); skew > most {
		return fmt.Errorf("the chain's clock is %s ahead of this machine's: set the clock", skew.Round(time.Second))
	}
	return nil
}

func (c *Client) setting(name string) string {
	if c.cfg.Section == "" {
		return "chain." + name
	}
	if name == "id" { // which is that of the rail there
		name = "chain_id"
	}
	return c.cfg.Section + "." + name
}

// latest names the newest block.
const latest = "latest"

// read calls a function of the token that takes nothing or words and returns a number, as of a block.
func (c *Client) read(ctx context.Context, data, block string) (*big.Int, error) {
	var word hexutil.Bytes
	if err := c.call(ctx, &word, "eth_call", map[string]string{"to": c.token.Hex(), "data": data}, block); err != nil {
		return nil, err
	}
	if len(word) != common.HashLength {
		return nil, fmt.Errorf("the contract at %s is not a token: correct %s", c.token, c.setting("token"))
	}
	return new(big.Int).SetBytes(word), nil
}

// Balance is what the treasury has by the newest block that counts, in the smallest unit of the token.
func (c *Client) Balance(ctx context.Context) (int64, error) {
	block := latest
	if c.cfg.Confirmations > 1 {
		newest, _, err := c.Newest(ctx)
		if err != nil {
			return 0, err
		}
		block = hexutil.EncodeUint64(newest)
	}
	n, err := c.read(ctx, "0x70a08231"+common.Bytes2Hex(common.LeftPadBytes(c.treasury[:], common.HashLength)), block)
	if err != nil {
		return 0, err
	}
	if !n.IsInt64() {
		return 0, errors.New("the treasury has more than can be counted")
	}
	return n.Int64(), nil
}

// Head is a block that the chain has come to.
type Head struct {
	Number uint64
	Hash   [32]byte
	At     time.Time
}

// header is what is read of a block. Rollups have more and other members than go-ethereum's own type knows.
type header struct {
	Number    *hexutil.Big   `json:"number"`
	Hash      common.Hash    `json:"hash"`
	Timestamp hexutil.Uint64 `json:"timestamp"`
}

func (h *header) head() Head {
	return Head{Number: (*big.Int)(h.Number).Uint64(), Hash: h.Hash, At: time.Unix(int64(h.Timestamp), 0).UTC()}
}

var errNoBlock = errors.New("the node does not have the block")

func (c *Client) block(ctx context.Context, which string) (Head, error) {
	var h *header
	if err := c.call(ctx, &h, "eth_getBlockByNumber", which, false); err != nil {
		return Head{}, err
	}
	if h == nil || h.Number == nil {
		return Head{}, errNoBlock
	}
	return h.head(), nil
}

// Head is the newest block.
func (c *Client) Head(ctx context.Context) (Head, error) { return c.block(ctx, latest) }

// Newest returns the number and the time of the newest block that counts: it has its confirmations.
func (c *Client) Newest(ctx context.Context) (uint64, time.Time, error) {
	head, err := c.Head(ctx)
	if depth := uint64(c.cfg.Confirmations); err == nil && depth > 1 {
		head, err = c.block(ctx, hexutil.EncodeUint64(head.Number-min(head.Number, depth-1)))
		if err == nil && head.Number > c.confirmed.Load() {
			c.confirmed.Store(head.Number)
		}
	}
	return head.Number, head.At, err
}

// counts fails with x402.ErrNotVisible for a block that has not its confirmations yet.
func (c *Client) counts(ctx context.Context, number uint64) error {
	if c.cfg.Confirmations <= 1 || number <= c.confirmed.Load() {
		return nil
	}
	newest, _, err := c.Newest(ctx)
	if err == nil && number > newest {
		err = x402.ErrNotVisible
	}
	return err
}

type rawLog struct {
	Address   common.Address `json:"address"`
	Topics    []common.Hash  `json:"topics"`
	Data      hexutil.Bytes  `json:"data"`
	TxHash    common.Hash    `json:"transactionHash"`
	Block     hexutil.Uint64 `json:"blockNumber"`
	BlockHash common.Hash    `json:"blockHash"`
	Removed   bool           `json:"removed"`
}

// Safe is the number of the newest block that has the confirmations which are asked for, or, where none are, that the chain's own rules
// call safe: on a rollup, one whose batch is on the chain below.
func (c *Client) Safe(ctx context.Context) (uint64, error) {
	if c.cfg.Confirmations > 0 {
		newest, _, err := c.Newest(ctx)
		return newest, err
	}
	head, err := c.block(ctx, "safe")
	if err != nil {
		return 0, fmt.Errorf("ask for the safe block (%s does without): %w", c.unsafely(), err)
	}
	return head.Number, nil
}

// unsafely is the setting with which no block is asked for that the chain calls safe.
func (c *Client) unsafely() string {
	if c.cfg.Section == "" {
		return "chain.deposit_finality: latest"
	}
	return c.setting("confirmations")
}

// FinalBlock is the number of the newest block that cannot vanish.
func (c *Client) FinalBlock(ctx context.Context) (uint64, error) {
	head, err := c.block(ctx, "finalized")
	return head.Number, err
}

// BlockHash is the hash of the block with the given number.
func (c *Client) BlockHash(ctx context.Context, number uint64) ([32]byte, error) {
	head, err := c.block(ctx, hexutil.EncodeUint64(number))
	return head.Hash, err
}
