package main

import (
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// draft is how texts speak of the rows of a pack.
type draft struct {
	about   string              // the pack
	most    map[string]int      // things of a kind that sentences are made about, the larger first
	forms   map[string][]string // by kind and field: {N} a name, {S} a symbol, {O} another name, {V} a figure, {W} a word for its way
	main    map[string]string   // by kind, the field that a figure next to the name is of
	others  map[string]string   // by field, another one whose figure is put in its place
	touch   bool                // a figure next to a name has one meaning
	judged  []string            // words of sentences that other packs say nothing of
	foreign string              // the unit of what texts of other languages state, "$" or "%"; "" for none
}

// fieldsOf are the fields that sentences state of t.
func (d draft) fieldsOf(t *thing) (list []string) {
	for _, name := range []string{"priceUsd", "change24hPct", "priceUsd", "change7dPct", "marketCapUsd", "change1hPct", "volume24hUsd",
		"tvlUsd", "supplyUsd", "markUsd", "funding1hPct", "openInterestUsd", "dvolPct", "putCall", "funding8hPct", "yieldPct", "ratePct", "rate", "level",
		"change12mPct", "debtUsd", "promptPerMillionUsd", "completionPerMillionUsd", "contextTokens", "likes", "downloads"} {
		if _, has := t.numbers[name]; has && d.forms[t.kind+"."+name] != nil {
			list = append(list, name)
		}
	}
	return list
}

// unitOf is the unit of a field by its name: $, % or none.
func unitOf(field string) string {
	switch {
	case strings.HasSuffix(field, "Pct"):
		return "%"
	case strings.HasSuffix(field, "Usd"):
		return "$"
	}
	return ""
}

func drafts() []draft {
	day := []string{"{N} {W} {V} in 24 hours.", "{N} {W} {V} today.", "Over the past day {N} {W} {V}.",
		"{N} has {W} {V} in the last 24 hours."}
	return []draft{{
		about: api.PackCrypto, most: map[string]int{"asset": 40, "protocol": 20, "stablecoin": 8}, foreign: "$",
		touch: true,
		forms: map[string][]string{
			"asset.priceUsd": {"{N} trades at {V}.", "{N} is at {V}.", "The price of {N} is {V}.", "{S}: {V}", "{N} costs {V}.",
				"{N} ({S}) is trading at {V} today.", "Right now {N} stands at {V}.", "{N} changes hands at {V}."},
			"asset.change24hPct": day, "protocol.change24hPct": day,
			"asset.change7dPct":    {"{N} {W} {V} in the past week.", "{N} {W} {V} over 7 days.", "{N} {W} {V} this week."},
			"asset.change1hPct":    {"{N} {W} {V} in the last hour.", "{N} {W} {V} in the past hour."},
			"asset.marketCapUsd":   {"{N} has a market cap of {V}.", "{N}'s market cap is {V}.", "The market cap of {N} stands at {V}."},
			"asset.volume24hUsd":   {"{N}'s trading volume is {V}.", "{N} has a 24-hour volume of {V}."},
			"protocol.tvlUsd":      {"{N} holds {V}.", "{N} has a TVL of {V}.", "The TVL of {N} is {V}.", "{N} has {V} locked."},
			"stablecoin.supplyUsd": {"{N} has a supply of {V}.", "{N}'s supply is {V}."},
		},
		main: map[string]string{"asset": "priceUsd"},
		others: map[string]string{"priceUsd": "marketCapUsd", "marketCapUsd": "volume24hUsd", "volume24hUsd": "marketCapUsd",
			"change24hPct": "change7dPct", "change7dPct": "change24hPct"},
	}, {
		about: api.PackPerps, most: map[string]int{"perp": 20, "volatility": 2, "options": 2, "venue": 4}, foreign: "$",
		touch: true, judged: []string{"open interest", "perp", "futures"},
		forms: map[string][]string{
			"perp.markUsd":            {"The {N} perp trades at {V}.", "{N} has a mark price of {V}.", "The mark price of {N} is {V}."},
			"perp.funding1hPct":       {"{N} has an hourly funding rate of {V}.", "The hourly funding rate of {N} is {V}."},
			"perp.openInterestUsd":    {"{N} has an open interest of {V}.", "The open interest of {N} perps is {V}.", "{S} open interest is {V}."},
			"perp.volume24hUsd":       {"{N} perps have a 24-hour volume of {V}."},
			"perp.change24hPct":       {"The {N} perp {W} {V} in 24 hours.", "The {N} perp {W} {V} today."},
			"volatility.dvolPct":      {"The implied volatility of {N} is {V}.", "{N} implied volatility stands at {V}.", "{S} DVOL is at {V}."},
			"volatility.change24hPct": {"{N} implied volatility {W} {V} in 24 hours."},
			"options.putCall":         {"The put/call ratio of {N} is {V}."},
			"options.openInterestUsd": {"{N} have an open interest of {V}."},
			"venue.openInterestUsd":   {"{N} has an open interest of {V}.", "Open interest on {N} is {V}."},
		},
		main:   map[string]string{"perp": "markUsd"},
		others: map[string]string{"openInterestUsd": "volume24hUsd", "volume24hUsd": "openInterestUsd", "markUsd": "openInterestUsd"},
	}, {
		about: api.PackMarkets, most: map[string]int{"yield": 13, "reference_rate": 5, "fx": 12, "volatility": 1, "indicator": 10}, foreign: "%",
		touch: true, judged: []string{"yesterday"},
		forms: map[string][]string{
			"yield.yieldPct": {"The {O} Treasury yield is {V}.", "The {O} Treasury yields {V}.",
				"The yield on the {O} Treasury stands at {V}."},
			"reference_rate.ratePct": {"{S} is at {V}.", "The {S} rate is {V}.", "{S} stands at {V}."},
			"fx.rate":                {"{N} is at {V}.", "{N} trades at {V}.", "The {N} rate is {V}."},
			"fx.change1dPct":         {"{N} {W} {V} today."},
			"volatility.level":       {"The VIX is at {V}.", "The VIX stands at {V}."},
			"indicator.debtUsd":      {"{N} is {V}.", "{N} stands at {V}."},
		},
		main:   map[string]string{"reference_rate": "ratePct", "fx": "rate", "volatility": "level"},
		others: map[string]string{},
	}, {
		about: api.PackAI, most: map[string]int{"model": 30, "trending_model": 8},
		forms: map[string][]string{
			"model.promptPerMillionUsd": {"{N} costs {V} per million input tokens.", "The input price of {N} is {V}.",
				"{N} has a prompt price of {V}."},
			"model.completionPerMillionUsd": {"{N} costs {V} per million output tokens.", "The output price of {N} is {V}."},
			"model.contextTokens":           {"{N} has a context window of {V} tokens.", "The context window of {N} is {V}."},
			"trending_model.likes":          {"{N} has {V} likes."},
			"trending_model.downloads":      {"{N} has {V} downloads."},
		},
		main: map[string]string{"model": "promptPerMillionUsd"},
		others: map[string]string{"promptPerMillionUsd": "completionPerMillionUsd", "completionPerMillionUsd": "promptPerMillionUsd",
			"likes": "downloads", "downloads": "likes"},
	}}
}

// foreignForm is how a language states an amount of dollars or a percentage, and writes numbers.
type foreignForm struct{ lang, amount, percent, thousands, decimal string }

func foreignForms() []foreignForm {
	return []foreignForm{
		{"de", "{N} kostet {V} Dollar.", "{N} liegt bei {V} %.", ".", ","},
		{"fr", "{N} vaut {V} dollars.", "{N} est à {V} %.", "\u202f", ","},
		{"es", "{N} cotiza a {V} dólares.", "{N} está en {V} %.", ".", ","},
		{"pt", "{N} está cotado a {V} dólares.", "{N} está em {V}%.", ".", ","},
		{"it", "{N} vale {V} dollari.", "{N} è al {V}%.", ".", ","},
		{"pl", "{N} kosztuje {V} dolarów.", "{N} wynosi {V}%.", " ", ","},
		{"ru", "{N} стоит {V} долларов.", "{N} составляет {V} %.", "\u00a0", ","},
		{"zh", "{N} 价格为 {V} 美元。", "{N} 为 {V}%。", ",", "."},
		{"ja", "{N}は{V}ドルです。", "{N}は{V}％です。", ",", "."},
		{"hi", "{N} की कीमत {V} डॉलर है।", "{N} {V}% है।", ",", "."},
		{"ar", "سعر {N} هو {V} دولار.", "معدل {N} هو {V}٪.", "٬", "٫"},
		{"ch", "{N}: {V} $", "{N}: {V} %", "’", "."},
	}
}
