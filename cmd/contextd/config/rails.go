package config

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// ChainID is that of the first rail.
func (c *Config) ChainID() int64 {
	if len(c.Rails) > 0 {
		return c.Rails[0].ChainID
	}
	return c.Chain.ID
}

// rails are where payments are made: the first, nil for nowhere, and the others.
func (c *Config) rails() (first *daemon.Chain, more []daemon.Chain, err error) {
	if len(c.Rails) == 0 {
		first, err = c.chain()
		return first, nil, err
	}
	networks := map[string]int{} // as ids, by where they are first
	ids := map[string]int{}
	for i, r := range c.Rails {
		at := fmt.Sprintf("rails[%d]", i)
		if j, taken := ids[r.ID]; taken {
			return nil, nil, cli.Invalid("%s.id is %q, as that of rails[%d]: give each its own", at, r.ID, j)
		}
		network := cmp.Or(r.Network, r.ID)
		if i == 0 {
			network = cmp.Or(r.Network, api.NetworkL2)
		}
		if (network == api.NetworkL2) != (i == 0) {
			return nil, nil, cli.Invalid("%s.network is %q: %s is the first rail, and no other", at, network, api.NetworkL2)
		}
		if j, taken := networks[network]; taken {
			return nil, nil, cli.Invalid("%s.network is %q, as that of rails[%d]: give each its own", at, network, j)
		}
		ids[r.ID], networks[network] = i, i
		one, err := place(at, r)
		if err != nil {
			return nil, nil, err
		}
		more = append(more, one)
	}
	return &more[0], more[1:], nil
}

// place is a rail of the configuration as the daemon takes it, with secrets read from their files.
func place(at string, r x402.Rail) (daemon.Chain, error) {
	if err := checkRail(at, r); err != nil {
		return daemon.Chain{}, err
	}
	var err error
	if r.RPCURL, err = urlOrFile(at+".rpc_url", r.RPCURL, r.RPCURLFile); err != nil {
		return daemon.Chain{}, err
	}
	if r.RPCURL == "" || r.Token == "" || r.Treasury == "" || r.ChainID < 1 {
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
	r.Section = at
	return daemon.Chain{Rail: r, SettleKey: key}, err
}

// checkRail says what is wrong with r that is no address.
func checkRail(at string, r x402.Rail) error {
	usdgChain := r.ChainID == api.ChainIDMain || r.ChainID == api.ChainIDTest
	switch {
	case !regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`).MatchString(r.ID):
		return cli.Invalid("%s.id is %q, not 2 to 32 of a to z, 0 to 9 and -, beginning with a letter", at, r.ID)
	case r.Decimals != usdg.Decimals:
		return cli.Invalid("%s.decimals is %d: only tokens of %d decimals can be taken, as prices are in millionths", at, r.Decimals,
			usdg.Decimals)
	case r.Settle.KeyFile != "" && r.Settle.FacilitatorURL != "":
		return cli.Invalid("%s.settle has key_file and facilitator_url: use one of them", at)
	case (r.Domain.Name == "") != (r.Domain.Version == ""),
		r.Settle.KeyFile+r.Settle.FacilitatorURL != "" && r.Domain.Name == "" && !usdgChain:
		return cli.Invalid("%s.domain needs name and version, as the token's contract has them: wallets sign with them", at)
	}
	return nil
}

// chain is where payments are made by the settings chain, nil for nowhere.
func (c *Config) chain() (*daemon.Chain, error) {
	rpc, err := urlOrFile("chain.rpc_url", c.Chain.RPCURL, c.Chain.RPCURLFile)
	if err != nil {
		return nil, err
	}
	switch {
	case rpc == "" && c.Chain.Token == "" && c.Chain.Treasury == "" && c.Chain.SettleKeyFile == "":
		return nil, nil
	case rpc == "" || c.Chain.Token == "" || c.Chain.Treasury == "":
		return nil, cli.Invalid("to be paid on a chain, chain.rpc_url (or chain.rpc_url_file), chain.token and chain.treasury are needed")
	}
	for name, address := range map[string]string{"chain.token": c.Chain.Token, "chain.treasury": c.Chain.Treasury} {
		if _, err := chain.Checksum(address); err != nil {
			return nil, cli.Invalid("%s: %w", name, err)
		}
	}
	key, err := settleKey("chain.settle_key_file", c.Chain.SettleKeyFile)
	return &daemon.Chain{
		Rail:   x402.Rail{RPCURL: rpc, Token: c.Chain.Token, Treasury: c.Chain.Treasury},
		AtOnce: c.Chain.DepositFinality == "latest", SettleKey: key,
	}, err
}

// settleKey is the key in a file that pays the gas of standard x402, "" for none.
func settleKey(setting, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	key, err := readSecret(setting, file)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return "", cli.Invalid("%s: everybody can read %s (mode %04o), and spend what its key has", setting, file, info.Mode().Perm()).
			WithHint("chmod 600 %s", file)
	}
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
	return readSecret(setting+"_file", file)
}
