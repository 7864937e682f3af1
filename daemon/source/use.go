package source

import "github.com/contextd/contextd/sdk/api"

// termsRead is when the terms below were read.
const termsRead = "2026-11-24"

// These are the terms of those whom several sources ask, or that are long. A page that says nothing is silent; one that wants to be asked,
// or that nobody has found, is ask.

func useCoinGecko() api.Use {
	return api.Use{Commercial: api.UseNo, Redistribute: api.UseNo, Store: api.UseNo, Attribution: "Powered by CoinGecko",
		Terms: "https://www.coingecko.com/en/api_terms", Read: termsRead}
}

func useCoinMarketCap() api.Use {
	return api.Use{Commercial: api.UseNo, Redistribute: api.UseAsk, Store: api.UseAsk, Attribution: "Data provided by CoinMarketCap",
		Terms: "https://coinmarketcap.com/terms/", Read: termsRead}
}

func useDefiLlama() api.Use {
	return api.Use{Commercial: api.UseNo, Redistribute: api.UseNo, Store: api.UseAsk, Attribution: "DefiLlama",
		Terms: "https://defillama.com/terms", Read: termsRead}
}

func useGeckoTerminal() api.Use {
	return api.Use{Commercial: api.UseNo, Redistribute: api.UseNo, Store: api.UseNo,
		Attribution: "On-chain data provided by GeckoTerminal", Terms: "https://www.coingecko.com/en/api_terms", Read: termsRead}
}

// useFearGreed is that of the index, which may be sold where alternative.me is named right beside the number: its rows bear that name.
func useFearGreed() api.Use {
	return api.Use{Commercial: api.UseYes, Redistribute: api.UseYes, Store: api.UseSilent, Attribution: "alternative.me",
		Terms: "https://alternative.me/crypto/fear-and-greed-index/#api",
		Read:  termsRead}
}

// useNews is that of a publisher: all three restrict their feeds to people who read for themselves.
func useNews(name, terms string) api.Use {
	return api.Use{Commercial: api.UseNo, Redistribute: api.UseNo, Store: api.UseAsk, Attribution: name, Terms: terms, Read: termsRead}
}

func usePolymarket() api.Use {
	return api.Use{Commercial: api.UseAsk, Redistribute: api.UseAsk, Store: api.UseAsk, Attribution: "Polymarket",
		Terms: "https://polymarket.com/tos", Read: termsRead}
}

// useKraken is that of an exchange which wants to be asked before others make money with its public market data.
func useKraken() api.Use {
	return api.Use{Commercial: api.UseAsk, Redistribute: api.UseAsk, Store: api.UseSilent, Attribution: "Kraken",
		Terms: "https://www.kraken.com/legal/global-terms", Read: "2026-11-26"}
}

func useMempool() api.Use {
	return api.Use{Commercial: api.UseSilent, Redistribute: api.UseSilent, Store: api.UseSilent, Attribution: "mempool.space",
		Terms: "https://mempool.space/terms-of-service", Read: termsRead}
}

func useCoinbase() api.Use {
	return api.Use{Commercial: api.UseAsk, Redistribute: api.UseNo, Store: api.UseNo, Attribution: "Coinbase",
		Terms: "https://www.coinbase.com/legal/market_data", Read: termsRead}
}

// useGas is that of the public nodes and of Blockscout: nobody has found terms of the former that say whether answers may be sold.
func useGas() api.Use {
	return api.Use{Commercial: api.UseAsk, Redistribute: api.UseAsk, Store: api.UseAsk,
		Attribution: "public Ethereum nodes, or Blockscout", Terms: "https://docs.blockscout.com/", Read: termsRead}
}
