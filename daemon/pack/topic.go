package pack

import (
	"slices"
	"strings"
)

// topic is the phrases, as normalize writes them, of which one occurs in every headline about a theme.
type topic []string

// newTopic is the topic of a theme: its phrases in the vocabulary, else its name, with the short form in brackets on its own:
// "Real World Assets (RWA)" is also "RWA".
func newTopic(theme theme, vocabulary map[string][]string) topic {
	phrases, ok := vocabulary[theme.ID]
	if !ok {
		name, short, _ := strings.Cut(theme.Name, "(")
		phrases = []string{name, strings.TrimSuffix(short, ")")}
	}
	var t topic // stays empty, and covers nothing, if no phrase has a letter
	for _, phrase := range phrases {
		if text := normalize(phrase); strings.TrimSpace(text) != "" {
			t = append(t, text)
		}
	}
	return t
}

// covers reports whether one of the story's headlines is about the topic.
func (t topic) covers(s story) bool {
	return slices.ContainsFunc(s.texts, func(text string) bool {
		return slices.ContainsFunc(t, func(phrase string) bool { return strings.Contains(text, phrase) })
	})
}

// vocabulary is how headlines speak of the themes whose names they do not use, by CoinGecko's id of the category. A name that is an
// everyday word gets clearer phrases, or none.
func vocabulary() map[string][]string {
	return map[string][]string{
		"ai-agents":                  {"ai agent", "ai agents", "virtuals"},
		"artificial-intelligence":    {"ai", "artificial intelligence"},
		"base-ecosystem":             {"base network", "base ecosystem"},
		"decentralized-exchange":     {"dex", "dexs", "dexes", "uniswap", "decentralized exchange"},
		"decentralized-finance-defi": {"defi", "decentralized finance"},
		"gaming":                     {"gamefi", "blockchain game", "blockchain games", "crypto gaming"},
		"intent":                     {},
		"layer-1":                    {"layer 1"},
		"layer-2":                    {"layer 2", "l2", "rollup", "rollups", "base network", "arbitrum", "optimism"},
		"lending-borrowing":          {"defi lending", "defi lender", "defi lenders", "aave"},
		"liquid-staking-tokens":      {"liquid staking", "lido"},
		"made-in-usa":                {},
		"meme-token":                 {"memecoin", "memecoins", "meme coin", "meme coins"},
		"non-fungible-tokens-nft":    {"nft", "nfts"},
		"oracle":                     {"chainlink", "price oracle", "oracle network"},
		"payment-solutions":          {"crypto payments"},
		"perpetuals":                 {"perpetual", "perpetuals", "perps", "hyperliquid"},
		"prediction-markets":         {"prediction market", "prediction markets", "polymarket", "kalshi"},
		"privacy-coins":              {"privacy coin", "privacy coins", "zcash", "monero"},
		"real-world-assets-rwa":      {"rwa", "rwas", "real world assets", "tokenized treasury", "tokenized treasuries", "tokenization"},
		"smart-contract-platform":    {"smart contract", "smart contracts"},
		"solana-meme-coins":          {"solana memecoin", "solana memecoins", "bonk", "official trump"},
		"stablecoins":                {"stablecoin", "stablecoins", "dollar peg"},
		"storage":                    {"filecoin", "arweave", "decentralized storage"},
		"tokenized-gold":             {"tokenized gold", "gold backed", "bullion"},
	}
}
