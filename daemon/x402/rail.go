package x402

import "fmt"

// Rail is a chain and token that payments are made with. Its fields are settings, by their tags (see internal/setting), which the
// configuration, the daemon and the packages that a payment goes through share: a setting is declared here and used where it counts. What
// RPCURLFile holds is in RPCURL once it is read; either may be a secret.
type Rail struct {
	ID         string `key:"id" doc:"Names it in the books, for good: l2chain for what was chain before."`
	Network    string `key:"network" doc:"Its name in purchases: l2chain for the first. Empty means that, or its id."`
	ChainID    int64  `key:"chain_id" doc:"Chain id, such as 8453. Keys are live or test keys by that of the first."`
	RPCURL     string `key:"rpc_url,secret" doc:"JSON-RPC over HTTP, where the URL holds no secret."`
	RPCURLFile string `key:"rpc_url_file" doc:"File with that URL, where it holds one; instead of rpc_url."`
	Token      string `key:"token" doc:"Address of the token's contract."`
	Decimals   int64  `key:"decimals" default:"6" doc:"Of the token: 6."`
	Domain     Domain `key:"domain" doc:"With which wallets sign for the token, by EIP-712. Not needed for USDG."`
	Treasury   string `key:"treasury" doc:"Address that payments go to. The daemon needs no key to it."`

	Confirmations int64    `key:"confirmations" min:"0" doc:"Blocks, its own among them, that a payment takes to count. 0"`
	_             struct{} `doc:"means one, and that the packs of 70 and 600 wait until the chain calls their block safe."`
	StartBlock    int64    `key:"start_block" min:"0" doc:"Where the first look for purchases begins. 0 means at the newest"`
	_             struct{} `doc:"block then."`

	Settle Settle `key:"settle" doc:"How payments of standard x402 are settled. Empty means that none are taken."`

	Section string // of the settings that it is from, which errors name; "" means chain
}

// Domain is with what wallets sign for a token.
type Domain struct {
	Name    string `key:"name" doc:"Such as USD Coin."`
	Version string `key:"version" doc:"Such as 2."`
}

// Settle says how a Settler settles, and by whom.
type Settle struct {
	KeyFile        string `key:"key_file" doc:"File with a private key that has ether alone."`
	FacilitatorURL string `key:"facilitator_url" doc:"Service that settles them; instead of key_file."` // may hold a secret
}

// String is what anybody may see of r.
func (r Rail) String() string {
	return fmt.Sprintf("%s (eip155:%d, token %s, treasury %s)", r.ID, r.ChainID, r.Token, r.Treasury)
}
