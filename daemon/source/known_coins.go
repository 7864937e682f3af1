package source

// knownCoins are coins with CoinGecko's ids by symbol: those of last where a symbol is of one coin, else large ones that are known where it
// has not answered yet.
func knownCoins(last Doc) map[string]Coin {
	known := make(map[string]Coin)
	for _, c := range largeCoins() {
		known[c.Symbol] = c
	}
	doc, is := last.(*MarketsDoc)
	if !is {
		return known
	}
	taken := make(map[string]int)
	for _, c := range doc.Coins {
		taken[c.Symbol]++
	}
	for _, c := range doc.Coins {
		if taken[c.Symbol] == 1 {
			known[c.Symbol] = c
		}
	}
	return known
}

// largeCoins are what CoinGecko calls large coins, the largest first.
func largeCoins() []Coin {
	return []Coin{
		{ID: "bitcoin", Symbol: "BTC", Name: "Bitcoin"}, {ID: "ethereum", Symbol: "ETH", Name: "Ethereum"},
		{ID: "tether", Symbol: "USDT", Name: "Tether"}, {ID: "ripple", Symbol: "XRP", Name: "XRP"},
		{ID: "binancecoin", Symbol: "BNB", Name: "BNB"}, {ID: "solana", Symbol: "SOL", Name: "Solana"},
		{ID: "usd-coin", Symbol: "USDC", Name: "USDC"}, {ID: "tron", Symbol: "TRX", Name: "TRON"},
		{ID: "dogecoin", Symbol: "DOGE", Name: "Dogecoin"}, {ID: "cardano", Symbol: "ADA", Name: "Cardano"},
		{ID: "bitcoin-cash", Symbol: "BCH", Name: "Bitcoin Cash"}, {ID: "chainlink", Symbol: "LINK", Name: "Chainlink"},
		{ID: "stellar", Symbol: "XLM", Name: "Stellar"}, {ID: "zcash", Symbol: "ZEC", Name: "Zcash"},
		{ID: "monero", Symbol: "XMR", Name: "Monero"}, {ID: "litecoin", Symbol: "LTC", Name: "Litecoin"},
		{ID: "sui", Symbol: "SUI", Name: "Sui"}, {ID: "avalanche-2", Symbol: "AVAX", Name: "Avalanche"},
		{ID: "hedera-hashgraph", Symbol: "HBAR", Name: "Hedera"}, {ID: "the-open-network", Symbol: "TON", Name: "Toncoin"},
		{ID: "uniswap", Symbol: "UNI", Name: "Uniswap"}, {ID: "polkadot", Symbol: "DOT", Name: "Polkadot"},
		{ID: "aave", Symbol: "AAVE", Name: "Aave"}, {ID: "near", Symbol: "NEAR", Name: "NEAR Protocol"},
		{ID: "ethereum-classic", Symbol: "ETC", Name: "Ethereum Classic"},
	}
}
