package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// railsKey is the setting that lists the rails.
const railsKey = "rails"

// railSettings say on which chains payments are made, where they are several.
func railSettings() Setting {
	return Setting{
		Key: railsKey, Default: []map[string]any{},
		Doc: "To be paid on several chains, in place of chain: each with one token of 6 decimals. Our own quotes and proofs are for " +
			"the first alone, whose network is l2chain; standard x402 and purchases of credits are taken on all. " +
			"See contextd help configure.",
		Members: []Setting{
			{Key: "id", Default: "", Doc: "Names it in the books, for good: l2chain for what was chain before."},
			{Key: "network", Default: "", Doc: "Its name in purchases: l2chain for the first. Empty means that, or its id."},
			{Key: "chain_id", Default: int64(0), Doc: "Chain id, such as 8453. Keys are live or test keys by that of the first."},
			{Key: "rpc_url", Default: "", Secret: true, Doc: "JSON-RPC over HTTP, where the URL holds no secret."},
			{Key: "rpc_url_file", Default: "", Doc: "File with that URL, where it holds one; instead of rpc_url."},
			{Key: "token", Default: "", Doc: "Address of the token's contract."},
			{Key: "decimals", Default: int64(usdg.Decimals), Doc: "Of the token: 6."},
			{Key: "domain", Doc: "With which wallets sign for the token, by EIP-712. Not needed for USDG.", Members: []Setting{
				{Key: "name", Default: "", Doc: "Such as USD Coin."},
				{Key: "version", Default: "", Doc: "Such as 2."},
			}},
			{Key: "treasury", Default: "", Doc: "Address that payments go to. The daemon needs no key to it."},
			{Key: "confirmations", Default: int64(0), Doc: "Blocks, its own among them, that a payment takes to count. " +
				"0 means one, and that the packs of 70 and 600 wait until the chain calls their block safe."},
			{Key: "start_block", Default: int64(0), Doc: "Where the first look for purchases begins. 0 means at the newest block then."},
			{Key: "settle", Doc: "How payments of standard x402 are settled. Empty means that none are taken.", Members: []Setting{
				{Key: "key_file", Default: "", Doc: "File with a private key that has ether alone."},
				{Key: "facilitator_url", Default: "", Doc: "Service that settles them; instead of key_file."},
			}},
		},
	}
}

// chainConfig is where payments are made, in either form.
type chainConfig struct {
	Chain struct {
		ID         int64  `mapstructure:"id"`
		RPCURL     string `mapstructure:"rpc_url"`
		RPCURLFile string `mapstructure:"rpc_url_file"` // where the URL holds a secret
		Token      string `mapstructure:"token"`
		Treasury   string `mapstructure:"treasury"`
		Finality   string `mapstructure:"deposit_finality"` // safe or latest
		SettleKey  string `mapstructure:"settle_key_file"`  // pays the gas of standard x402
	} `mapstructure:"chain"`
	Rails []railConfig `mapstructure:"rails"`
}

// railConfig is one rail of the configuration.
type railConfig struct {
	ID         string `mapstructure:"id"`
	Network    string `mapstructure:"network"`
	ChainID    int64  `mapstructure:"chain_id"`
	RPCURL     string `mapstructure:"rpc_url"`
	RPCURLFile string `mapstructure:"rpc_url_file"`
	Token      string `mapstructure:"token"`
	Decimals   *int   `mapstructure:"decimals"`
	Domain     struct {
		Name    string `mapstructure:"name"`
		Version string `mapstructure:"version"`
	} `mapstructure:"domain"`
	Treasury      string `mapstructure:"treasury"`
	Confirmations int64  `mapstructure:"confirmations"`
	StartBlock    int64  `mapstructure:"start_block"`
	Settle        struct {
		KeyFile        string `mapstructure:"key_file"`
		FacilitatorURL string `mapstructure:"facilitator_url"`
	} `mapstructure:"settle"`
}

// String is what anybody may see of r.
func (r railConfig) String() string {
	return fmt.Sprintf("%s (eip155:%d, token %s, treasury %s)", r.ID, r.ChainID, r.Token, r.Treasury)
}

// chainID is that of the first rail.
func (c chainConfig) chainID() int64 {
	if len(c.Rails) > 0 {
		return c.Rails[0].ChainID
	}
	return c.Chain.ID
}

// oneForm refuses both forms of rails together, after read.
func (s *settings) oneForm() error {
	if len(s.rails) == 0 {
		return nil
	}
	for _, row := range Table() {
		if section, _, _ := cut(row.Key); section != "chain" {
			continue
		}
		if s.lines[row.Key] > 0 || os.Getenv(row.Env()) != "" || row.CredentialFile() != "" {
			return cli.Invalid("%s and rails both say where payments are made: use one of them; what was chain is a rail with the id %s",
				row.Key, api.NetworkL2)
		}
	}
	return nil
}

// places are where payments are made: the first, nil for nowhere, and the others.
func (c chainConfig) places() (first *daemon.Chain, more []daemon.Chain, err error) {
	if len(c.Rails) == 0 {
		first, err = c.chain()
		return first, nil, err
	}
	networks := map[string]int{} // as ids, by where they are first
	ids := map[string]int{}
	for i, r := range c.Rails {
		at := fmt.Sprintf("%s[%d]", railsKey, i)
		if j, taken := ids[r.ID]; taken {
			return nil, nil, cli.Invalid("%s.id is %q, as that of %s[%d]: give each its own", at, r.ID, railsKey, j)
		}
		network := cmp.Or(r.Network, r.ID)
		if i == 0 {
			network = cmp.Or(r.Network, api.NetworkL2)
		}
		if (network == api.NetworkL2) != (i == 0) {
			return nil, nil, cli.Invalid("%s.network is %q: %s is the first rail, and no other", at, network, api.NetworkL2)
		}
		if j, taken := networks[network]; taken {
			return nil, nil, cli.Invalid("%s.network is %q, as that of %s[%d]: give each its own", at, network, railsKey, j)
		}
		ids[r.ID], networks[network] = i, i
		one, err := r.place(at)
		if err != nil {
			return nil, nil, err
		}
		more = append(more, one)
	}
	return &more[0], more[1:], nil
}

// place is r as the daemon takes it. at is what it is called.
func (r railConfig) place(at string) (daemon.Chain, error) {
	if err := r.check(at); err != nil {
		return daemon.Chain{}, err
	}
	rpc, err := urlOrFile(at+".rpc_url", r.RPCURL, r.RPCURLFile)
	if err != nil {
		return daemon.Chain{}, err
	}
	if rpc == "" || r.Token == "" || r.Treasury == "" || r.ChainID < 1 {
		return daemon.Chain{}, cli.Invalid("%s needs chain_id, rpc_url (or rpc_url_file), token and treasury", at)
	}
	for name, address := range map[string]string{"token": r.Token, "treasury": r.Treasury} {
		if _, err := chain.Checksum(address); err != nil {
			return daemon.Chain{}, cli.Invalid("%s.%s: %w", at, name, err)
		}
	}
	if r.Settle.FacilitatorURL != "" {
		if _, err := chain.ParseFacilitator(r.Settle.FacilitatorURL); err != nil {
			return daemon.Chain{}, cli.Invalid("%s.settle.facilitator_url: %w", at, err)
		}
	}
	key, err := settleKey(at+".settle.key_file", r.Settle.KeyFile)
	return daemon.Chain{
		ID: r.ID, Section: at, ChainID: r.ChainID, RPCURL: rpc, Token: r.Token, Treasury: r.Treasury,
		SettleKey: key, FacilitatorURL: r.Settle.FacilitatorURL,
		TokenName: r.Domain.Name, TokenVersion: r.Domain.Version,
		Confirmations: uint64(r.Confirmations), StartBlock: uint64(r.StartBlock),
	}, err
}

// check says what is wrong with r that is no address.
func (r railConfig) check(at string) error {
	usdgChain := r.ChainID == api.ChainIDMain || r.ChainID == api.ChainIDTest
	switch {
	case !regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`).MatchString(r.ID):
		return cli.Invalid("%s.id is %q, not 2 to 32 of a to z, 0 to 9 and -, beginning with a letter", at, r.ID)
	case r.Decimals != nil && *r.Decimals != usdg.Decimals:
		return cli.Invalid("%s.decimals is %d: only tokens of %d decimals can be taken, as prices are in millionths", at, *r.Decimals,
			usdg.Decimals)
	case r.Confirmations < 0 || r.StartBlock < 0:
		return cli.Invalid("%s.confirmations or start_block is less than 0", at)
	case r.Settle.KeyFile != "" && r.Settle.FacilitatorURL != "":
		return cli.Invalid("%s.settle has key_file and facilitator_url: use one of them", at)
	case (r.Domain.Name == "") != (r.Domain.Version == ""),
		r.Settle.KeyFile+r.Settle.FacilitatorURL != "" && r.Domain.Name == "" && !usdgChain:
		return cli.Invalid("%s.domain needs name and version, as the token's contract has them: wallets sign with them", at)
	}
	return nil
}

// chain is where payments are made by the settings chain, nil for nowhere.
func (c chainConfig) chain() (*daemon.Chain, error) {
	rpc, err := urlOrFile("chain.rpc_url", c.Chain.RPCURL, c.Chain.RPCURLFile)
	if err != nil {
		return nil, err
	}
	switch {
	case rpc == "" && c.Chain.Token == "" && c.Chain.Treasury == "" && c.Chain.SettleKey == "":
		return nil, nil
	case rpc == "" || c.Chain.Token == "" || c.Chain.Treasury == "":
		return nil, cli.Invalid("to be paid on a chain, chain.rpc_url (or chain.rpc_url_file), chain.token and chain.treasury are needed")
	}
	for name, address := range map[string]string{"chain.token": c.Chain.Token, "chain.treasury": c.Chain.Treasury} {
		if _, err := chain.Checksum(address); err != nil {
			return nil, cli.Invalid("%s: %w", name, err)
		}
	}
	if c.Chain.Finality != "safe" && c.Chain.Finality != "latest" {
		return nil, cli.Invalid("chain.deposit_finality is %q, neither safe nor latest", c.Chain.Finality)
	}
	key, err := settleKey("chain.settle_key_file", c.Chain.SettleKey)
	return &daemon.Chain{
		RPCURL: rpc, Token: c.Chain.Token, Treasury: c.Chain.Treasury, AtOnce: c.Chain.Finality == "latest", SettleKey: key,
	}, err
}

// settleKey is the key in a file that pays the gas of standard x402, "" for none.
func settleKey(setting, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", setting, err)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return "", cli.Invalid("%s: everybody can read %s (mode %04o), and spend what its key has", setting, file, info.Mode().Perm()).
			WithHint("chmod 600 %s", file)
	}
	key := strings.TrimSpace(string(text))
	if !usdg.ReadHex(key, new([32]byte)[:]) {
		return "", cli.Invalid("%s %s holds no key: 0x and 64 hexadecimal digits", setting, file)
	}
	return key, nil
}

// urlOrFile is the URL that a setting holds, or the file that its neighbour names; "" for none.
func urlOrFile(setting, text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	if text != "" {
		return "", cli.Invalid("%s and %[1]s_file (%s) both say where it is: use one of them", setting, file)
	}
	read, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s_file: %w", setting, err)
	}
	return strings.TrimSpace(string(read)), nil
}
