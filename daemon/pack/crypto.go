package pack

import (
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// cryptoVersion is the version of the crypto pack. Another order of its sources, or one more at their end, needs the next one.
const cryptoVersion = 2

// Anchors of the crypto pack's sources, in the order of Crypto. Every row bears the one of its source.
const (
	refMarkets = iota + 1
	refTrending
	refGlobal
	refCategories
	refProtocols
	refChains
	refStablecoins
	refHacks
	refPools
	refFearGreed
	refCoinDesk
	refCointelegraph
	refDecrypt
	refPredictions
	refKraken
	refFees
	refCoinbase
	refGas // since version 2
)

// What the sources ask of those who use their data, where several ask the same.
const (
	licenceCoinGecko = "no commercial use without a paid plan, no passing on, no keeping; say Powered by CoinGecko"
	licenceLlama     = "personal use; commercial use and passing on need an agreement"
	licenceNews      = "personal use by people; passing on needs an agreement. Headlines and links alone are kept"
	licenceCoinbase  = "no passing on or display to others without written consent"
	licenceAsk       = "public API; ask before selling what it says"
	licenceSilent    = "public API whose terms do not speak of passing on; name the source"
)

// Crypto returns the crypto pack. Its sources bear the anchors [1] to [18], and its states are api.CryptoState.
func Crypto() *Pack {
	p := &Pack{ID: api.PackCrypto, Version: cryptoVersion, Sources: []Source{
		from(source.CoinGeckoMarkets(), "CoinGecko Markets", "https://www.coingecko.com/", licenceCoinGecko),
		from(source.CoinGeckoTrending(), "CoinGecko Trending", "https://www.coingecko.com/en/highlights/trending-crypto", licenceCoinGecko),
		from(source.CoinGeckoGlobal(), "CoinGecko Global", "https://www.coingecko.com/en/global-charts", licenceCoinGecko),
		from(source.CoinGeckoCategories(), "CoinGecko Categories", "https://www.coingecko.com/en/categories", licenceCoinGecko),
		from(source.DefiLlamaProtocols(), "DefiLlama Protocols", "https://defillama.com/", licenceLlama),
		from(source.DefiLlamaChains(), "DefiLlama Chains", "https://defillama.com/chains", licenceLlama),
		from(source.DefiLlamaStablecoins(), "DefiLlama Stablecoins", "https://defillama.com/stablecoins", licenceLlama),
		from(source.DefiLlamaHacks(), "DefiLlama Hacks", "https://defillama.com/hacks", licenceLlama),
		from(source.GeckoTerminalTrending(), "GeckoTerminal Trending Pools", "https://www.geckoterminal.com/", licenceCoinGecko),
		from(source.FearGreed(), "Crypto Fear & Greed Index (alternative.me)", "https://alternative.me/crypto/fear-and-greed-index/",
			"commercial use allowed; name alternative.me right beside the number"),
		from(source.NewsCoinDesk(), "CoinDesk", "https://www.coindesk.com/", licenceNews),
		from(source.NewsCointelegraph(), "Cointelegraph", "https://cointelegraph.com/", licenceNews),
		from(source.NewsDecrypt(), "Decrypt", "https://decrypt.co/", licenceNews),
		from(source.Polymarket(), "Polymarket Crypto", "https://polymarket.com/crypto", licenceAsk),
		from(source.Kraken(), "Kraken Ticker", "https://www.kraken.com/prices", licenceSilent),
		from(source.MempoolFees(), "mempool.space", "https://mempool.space/", licenceSilent),
		from(source.CoinbaseExchange(), "Coinbase Exchange", "https://www.coinbase.com/explore", licenceCoinbase),
		from(source.BlockscoutGas(), "Blockscout Ethereum Gas", "https://eth.blockscout.com/gas-tracker", licenceAsk),
	}}
	p.Title, p.Digest = "Crypto", "built in"
	p.Description = "Prices and movers, value locked, trending pools, sentiment, stablecoins, fees, themes in the news, and what is out " +
		"of the ordinary."
	p.FlagKinds = api.FlagKinds()
	p.Compact = p.compactCrypto
	p.Excerpts = p.excerptsOfCrypto
	p.Tables = p.tablesOfCrypto
	p.Shown = cryptoShown()
	p.Members = MembersOf(p.Shown)
	for _, k := range cryptoKinds() {
		p.Kinds = append(p.Kinds, k.Name)
	}
	return p
}

func from(c source.Connector, name, url, licence string) Source {
	return Source{Connector: c, Name: name, PublicURL: url, Licence: licence}
}

// Paced is p, as often asked as an account at CoinGecko allows.
func (p *Pack) Paced(account source.CoinGecko) *Pack {
	for i := range p.Sources {
		p.Sources[i].Interval = account.Interval(p.Sources[i].Connector)
	}
	return p
}

// compactCrypto is Compact of the crypto pack. Every member is made of what the sources last said and of nothing else; only the
// flags look at the state before.
func (p *Pack) compactCrypto(in Input) ([]byte, error) {
	v := newView(p, in)
	s := &api.CryptoState{
		TopMovers:     v.movers(),
		ProtocolTVL:   v.valueLocked(),
		TrendingPools: v.pools(),
		Sentiment:     v.sentiment(),
		Narratives:    v.narratives(),
		Flags:         v.flags(),
		SourceStatus:  v.status,
	}
	v.mark(s)
	return fit(s)
}

// mark says of every row in s that is carried that it is stale.
func (v *view) mark(s *api.CryptoState) {
	for i := range s.TopMovers {
		s.TopMovers[i].Stale = v.carried(s.TopMovers[i].Ref)
		for j := range s.TopMovers[i].Venues {
			s.TopMovers[i].Venues[j].Stale = v.carried(s.TopMovers[i].Venues[j].Ref)
		}
	}
	for i := range s.ProtocolTVL {
		s.ProtocolTVL[i].Stale = v.carried(s.ProtocolTVL[i].Ref)
	}
	for i := range s.TrendingPools {
		s.TrendingPools[i].Stale = v.carried(s.TrendingPools[i].Ref)
	}
	for i := range s.Narratives {
		n := &s.Narratives[i]
		n.Stale = v.carried(n.Ref)
		for j := range n.Headlines {
			n.Headlines[j].Stale = v.carried(n.Headlines[j].Ref)
		}
	}
	for i := range s.Flags {
		f := &s.Flags[i]
		f.Stale = v.carried(f.Ref) && !api.AboutSource(f.Kind)
	}
	v.markReadings(&s.Sentiment)
}

func (v *view) markReadings(s *api.Sentiment) {
	if s.FearGreed != nil {
		s.FearGreed.Stale = v.carried(s.FearGreed.Ref)
	}
	if s.Market != nil {
		s.Market.Stale = v.carried(s.Market.Ref)
	}
	if s.Breadth != nil {
		s.Breadth.Stale = v.carried(s.Breadth.Ref)
	}
	if s.Stablecoins != nil {
		s.Stablecoins.Stale = v.carried(s.Stablecoins.Ref)
	}
	if s.Fees != nil {
		s.Fees.Stale = v.carried(s.Fees.Ref)
	}
	if s.Gas != nil {
		s.Gas.Stale = v.carried(s.Gas.Ref)
	}
	for i := range s.Predictions {
		s.Predictions[i].Stale = v.carried(s.Predictions[i].Ref)
	}
}

// view is what the sources of the crypto pack say at one moment.
type view struct {
	pack   *Pack
	in     Input
	status []api.SourceStatus
	pegged map[string]bool // ids of the stablecoins that are known by name
	links  *links
	prev   []api.Flag        // flags of the state before
	owners map[string]string // entities of flags that stand or are remembered, by their ids
}

func newView(p *Pack, in Input) *view {
	v := &view{
		pack: p, in: in, status: p.Status(in), pegged: make(map[string]bool), links: p.linksOf(in), prev: in.flags(),
		owners: make(map[string]string),
	}
	for _, f := range in.Ended {
		v.owners[f.ID] = f.Entity
	}
	for _, f := range v.prev {
		v.owners[f.ID] = f.Entity
	}
	// What a coin is pegged to does not age, so that even an answer too old to be shown tells it.
	if doc, ok := v.reading(refStablecoins).Doc.(*source.StablecoinsDoc); ok {
		for _, c := range doc.Coins {
			v.pegged[c.ID] = true
		}
	}
	return v
}

func (v *view) reading(ref int) Reading { return v.in.Readings[v.pack.Sources[ref-1].ID] }

// late reports whether the last good answer of the source [ref] is older than it should get.
func (v *view) late(ref int) bool {
	return v.in.Now.Sub(v.reading(ref).FetchedAt) > v.pack.Sources[ref-1].StaleAfter
}

// fresh reports whether the last attempt of the source [ref] was good and is not long ago.
func (v *view) fresh(ref int) bool { return v.status[ref-1].Status == api.SourceOK }

// carried reports whether rows of the source [ref] are shown although it did not answer when it should have.
func (v *view) carried(ref int) bool { return !v.fresh(ref) }

// lastGood returns what the source [ref] said, nil if there is nothing that may still be used. Rows of a stale source are carried as
// they are: its status tells readers how old they are.
func lastGood[D source.Doc](v *view, ref int) (doc D) {
	if v.status[ref-1].Status != api.SourceError {
		doc, _ = v.reading(ref).Doc.(D)
	}
	return doc
}

func (v *view) narratives() []api.Narrative {
	in := narrativeInput{Ref: refCategories, Now: v.in.Now}
	if doc := lastGood[*source.CategoriesDoc](v, refCategories); doc != nil {
		for _, c := range doc.Categories {
			in.Themes = append(in.Themes, theme(c))
		}
	}
	if doc := lastGood[*source.TrendingDoc](v, refTrending); doc != nil {
		for _, c := range doc.Coins {
			in.Searched = append(in.Searched, searchedCoin{ID: c.ID, Symbol: c.Symbol})
		}
	}
	for _, ref := range [...]int{refCoinDesk, refCointelegraph, refDecrypt} {
		if doc := lastGood[*source.NewsDoc](v, ref); doc != nil {
			for _, h := range doc.Items {
				in.Headlines = append(in.Headlines, headline{Title: h.Title, URL: h.URL, PublishedAt: h.PublishedAt, Ref: ref})
			}
		}
	}
	return rankThemes(in)
}

func (v *view) flags() []api.Flag {
	now := v.in.Now.UTC().Truncate(time.Millisecond)
	seen := sourceTroubles(v.status, func(ref int) string { return v.pack.Sources[ref-1].Name }, now)
	for _, see := range [...]func() []observation{
		v.moves, v.fastMoves, v.drops, v.depegs, v.exploits, v.extremes, v.divergences, v.feeSpikes, v.gasSpikes, v.names,
	} {
		seen = append(seen, see()...)
	}
	return raiseFlags(seen, v.prev, v.in.Ended, now)
}
