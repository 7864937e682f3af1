package state

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// alsoEnglish are words of other languages that are English too, or the beginning of a name: they are foreign beside others alone.
const alsoEnglish = "die war hat den des im hier vale actual y et en c du el la le los las del de was au un una es " +
	"por wo sur a que total use l d n qu j capitalisation do o da kurs cena hoe ne van wat het ile jest " +
	"am son ha mas nach mayor menor sono modelo"

// english says in English what a question has in a writing without spaces.
func english(q string) string {
	if !strings.ContainsFunc(q, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}) {
		return q
	}
	return eastern().Replace(q)
}

func eastern() *strings.Replacer {
	return strings.NewReplacer(
		"比特币", " bitcoin ", "以太坊", " ethereum ", "狗狗币", " dogecoin ", "莱特币", " litecoin ", "瑞波币", " xrp ", "价格", " price ",
		"市值", " market cap ", "交易量", " volume ", "成交量", " volume ", "今天", " today ", "昨天", " yesterday ", "本周", " this week ",
		"现在", " now ", "多少钱", " price ", "多少", " ", "涨了", " up ", "跌了", " down ", "上涨", " up ", "下跌", " down ", "新闻", " news ",
		"稳定币", " stablecoin ", "是", " ", "的", " ", "和", " and ",
		"비트코인", " bitcoin ", "이더리움", " ethereum ", "리플", " xrp ", "솔라나", " solana ", "도지코인", " dogecoin ", "시가총액", " market cap ",
		"거래량", " volume ", "가격은", " price ", "가격", " price ", "얼마인가요", " price ", "얼마예요", " price ", "얼마", " price ",
		"오늘", " today ", "어제", " yesterday ", "지금", " now ", "현재", " now ", "뉴스", " news ", "은요", " ", "의", " ", "입니까", " ",
		"時価総額", " market cap ", "ドミナンス", " dominance ", "取引高", " volume ", "取引量", " volume ", "出来高", " volume ",
		"供給量", " supply ", "発行量", " supply ", "価格", " price ", "値段", " price ", "ニュース", " news ", "変動率", " change ",
		"過去7日間", " 7d ", "過去24時間", " 24h ", "過去1時間", " 1h ", "入力", " input ", "出力", " output ",
		"変化", " change ", "変動", " change ", "昨日", " yesterday ", "今日", " today ", "本日", " today ", "今週", " this week ",
		"先週", " last week ", "一週間前", " a week ago ", "1週間前", " a week ago ", "現在", " now ", "今", " now ", "最新", " latest ",
		"手数料", " fee ", "ガス代", " gas ", "いくら", " price ", "教えて", " ", "ください", " ", "ですか", " ", "です", " ", "ステーブルコイン",
		" stablecoin ", "ビットコインキャッシュ", " bitcoin cash ", "ビットコイン", " bitcoin ", "イーサリアムクラシック", " ethereum classic ",
		"イーサリアム", " ethereum ", "リップル", " xrp ", "ソラナ", " solana ", "ドージコイン", " dogecoin ", "カルダノ", " cardano ",
		"ライトコイン", " litecoin ", "テザー", " tether ", "モネロ", " monero ", "ポルカドット", " polkadot ", "トロン", " tron ",
		"一番", " most ", "最も", " most ", "最大", " biggest ", "上がった", " up ", "下がった", " down ",
		"トップ", " top ", "上位", " top ", "コイン", " coins ",
		"は", " ", "の", " ", "を", " ", "と", " and ", "が", " ", "に", " ", "？", " ", "、", " ", "。", " ", "か", " ",
	)
}

// foreign says words of other languages in English, where they are no English themselves.
func (t *Tables) foreign(words []term) (list []term) {
	if len(words) == 0 {
		return nil
	}
	known := t.languages
	if !slices.ContainsFunc(words, func(w term) bool {
		return known[w.text] != "" && !strings.Contains(" "+alsoEnglish+" ", " "+w.text+" ")
	}) {
		return words
	}
	for i := 0; i < len(words); i++ {
		said := false
		for n := min(3, len(words)-i); n > 0 && !said; n-- {
			translated, ok := known[strings.Join(texts(words[i:i+n]), " ")]
			if !ok {
				continue
			}
			for text := range strings.FieldsSeq(translated) {
				list = append(list, term{text: text, raw: text, slash: words[i].slash})
			}
			i += n - 1
			said = true
		}
		if !said {
			list = append(list, words[i])
		}
	}
	return list
}

// short says in full what people shorten, as words of the table of words have it.
func short(w string) string {
	switch w {
	case "px", "quotation", "quotations", "quoted", "quoting", "priced", "pricing", "costing":
		return "price"
	case "vol", "vols":
		return "volume"
	case "lvl":
		return "level"
	case "yr":
		return "year"
	case "yrs":
		return "years"
	case "wk", "wks":
		return "week"
	case "mth":
		return "month"
	case "yld", "ylds":
		return "yield"
	case "mkt":
		return "market"
	case "ttl":
		return "total"
	case "dl", "dls":
		return "downloads"
	case "curr":
		return "current"
	case "hl":
		return "hyperliquid"
	case "chg", "changed":
		return "change"
	case "perf", "performed", "performance":
		return "change"
	case "dom":
		return "dominance"
	case "yday", "yest":
		return "yesterday"
	case "prob", "probs":
		return "probability"
	case "ver":
		return "version"
	case "ctx":
		return "context"
	case "scared", "fearful", "greedy":
		return "fear and greed"
	case "fng":
		return "fear and greed"
	case "oi":
		return "open interest"
	case "ust":
		return "treasury"
	case "ether", "eths":
		return "ethereum"
	case "lumens":
		return "stellar"
	case "cryptos", "cryptocurrencies":
		return "coins"
	case "headline", "article", "articles", "newsflash":
		return "headlines"
	case "liq":
		return "liquidity"
	}
	return ""
}

// digits says numbers in digits that people write out, two words for one number included.
func digits(words []term) (list []term) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		n := cardinal(w.text)
		if w.text == "one" && i+1 < len(words) && (words[i+1].text == "year" || words[i+1].text == "month") { // the one-year bill
			w.text, w.raw = "1", "1"
		}
		if n >= 20 && i+1 < len(words) {
			if unit := cardinal(words[i+1].text); unit > 0 && unit < 10 {
				n += unit
				i++
			}
		}
		if n > 1 || w.text == "zero" {
			w.text = strconv.Itoa(n)
			w.raw = w.text
		}
		list = append(list, w)
	}
	return list
}

func cardinal(w string) int {
	small := []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	tens := map[string]int{"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}
	return max(slices.Index(small, w), tens[w], 0)
}

// foreignWords are words of other languages of Europe for the commonest figures, times and kinds, in English. What carries no meaning is
// left out of the English.
func foreignWords() map[string]string {
	all := make(map[string]string)
	for said, phrases := range map[string]string{
		"bitcoin":  "биткоин, биткойн, биткоина, биткойна, биткоину, bitcoina",
		"ethereum": "эфириум, эфир, эфириума, эфира",
		"price": "цена, цену, стоит, стоимость, курс, preis, kurs, kostet, kosten, wert, precio, cotización, " +
			"cotizacion, cuesta, vale, valor, prix, coût, cout, coûte, " +
			"coute, vaut, cours, " +
			"cuanto cuesta, cuánto cuesta, wie viel kostet, wieviel kostet, combien coûte, combien coute, combien vaut, cuanto vale, " +
			"cuánto vale, quanto costa, quanto custa, quanto vale, prezzo, preço, preco, koers, prijs, kost, hoeveel kost, " +
			"cena, ile kosztuje, kosztuje, fiyat, fiyatı, fiyati, kaç dolar, kac dolar, ne kadar",
		"prices": "preise, kurse, precios",
		"coins": "monedas, criptomonedas, criptos, münzen, kryptos, kryptowährungen, monnaies, cryptomonnaies, moedas, criptomoedas, " +
			"monete, criptovalute",
		"rate":   "tasa, taxa, taux, tasso, tipo",
		"coin":   "moneda, moeda, moneta, münze, monnaie",
		"dollar": "dólar, dólares",
		"model":  "modell, modèle, modelo, modello",
		"models": "modelle, modèles, modelos, modelli",
		"most":   "más, mas, am meisten, le plus, les plus, mais, più, di più",
		"biggest": "más grande, más grandes, mayor, mayores, maior, maiores, grösste, grössten, grösster, groesste, größte, größten, " +
			"le plus grand, la plus grande, les plus grands, les plus grandes, plus grand, plus grande, più grande, più grandi",
		"smallest": "más pequeña, más pequeño, menor, menores, kleinste, kleinsten, le plus petit, " +
			"la plus petite, più piccola, più piccolo",
		"cheapest": "más barato, más barata, más baratos, günstigste, günstigsten, günstigstes, billigste, billigsten, billigstes, " +
			"le moins cher, la moins chère, les moins chers, mais barato, mais barata, più economico, più economica",
		"most expensive": "más caro, más cara, más caros, teuerste, teuersten, teuerstes, le plus cher, la plus chère, les plus chers, " +
			"mais caro, mais cara, più caro, più cara",
		"highest": "más alto, más alta, höchste, höchsten, höchster, le plus haut, la plus haute, " +
			"mais alto, mais alta, più alto, più alta",
		"lowest": "más bajo, más baja, niedrigste, niedrigsten, le plus bas, la plus basse, " +
			"mais baixo, mais baixa, più basso, più bassa",
		"by":             "nach",
		"dominance":      "dominancia, dominância, dominanz, dominanza",
		"inflation rate": "tasa de inflación, taxa de inflação, inflationsrate, taux d inflation, tasso di inflazione",
		"funding rate":   "tasa de financiación, taxa de financiamento, finanzierungsrate, taux de financement",
		"exchange rate":  "tipo de cambio, taux de change, wechselkurs, taxa de câmbio, tasso di cambio",
		"yesterday":      "gestern, ayer, hier, ieri, ontem, gisteren, wczoraj, dün, вчера",
		"today":          "heute, hoy, aujourd hui, aujourdhui, oggi, hoje, vandaag, dzisiaj, dziś, bugün, сегодня",
		"now": "ahora mismo, en este momento, en ce moment, im moment, gerade jetzt, " +
			"jetzt, aktuell, aktueller, aktuelle, derzeit, gerade, momentan, " +
			"ahora, actual, actualmente, maintenant, " +
			"actuel, actuellement",
		"this week":  "diese woche, esta semana, cette semaine",
		"last week":  "letzte woche, semana pasada, semaine dernière, semaine derniere",
		"a week ago": "vor einer woche, hace una semana, il y a une semaine",
		"supply":     "umlaufmenge, umlauf, angebot, gesamtangebot, oferta, suministro, offre",
		"market cap": "капитализация, capitalizzazione, capitalização, capitalizacao, marktwaarde, kapitalizacja, " +
			"piyasa değeri, marktkapitalisierung, capitalización de mercado, capitalizacion de mercado, " +
			"capitalización, capitalizacion, " +
			"capitalisation boursière, capitalisation boursiere, capitalisation",
		"volume": "volumen, handelsvolumen, umsatz, volumen de negociación, volume d échange, volume d echange",
		"news":   "nachrichten, neuigkeiten, noticias, actualités, actualites, nouvelles",
		"fee":    "gebühr, gebuehr, comisión, comision, frais",
		"fees":   "gebühren, gebuehren, comisiones",
		"change": "änderung, aenderung, veränderung, veraenderung, cambio, variación, variacion, variation, changement",
		"up": "вырос, выросла, gestiegen, steigt, subido, sube, monté, augmenté, gestegen, salito, salita, saliti, salite, subiu, " +
			"subieron, subió, subidas, subiram, montée, montées, wzrósł, wzrosło, yükseldi",
		"down": "упал, упала, gefallen, fällt, faellt, bajado, baja, baissé, chuté, gedaald, sceso, scesa, scesi, scese, caiu, " +
			"bajaron, bajó, cayeron, cayó, caíram, caiu, chuté, chutées, spadł, spadło, düştü",
		"and":       "und, y, et",
		"or":        "oder, ou",
		"since":     "seit, desde, depuis",
		"hours":     "stunden, horas, heures",
		"hourly":    "stündliche, stündlichen, stündlicher, stündlich, horaria, horario, horaire",
		"locked":    "hinterlegt, bloqueado, bloqueados, verrouillé, verrouillés",
		"three":     "trois, drei",
		"five":      "cinq, fünf, cinco",
		"ten":       "zehn, diez",
		"gainers":   "plus fortes hausses, plus grandes hausses, größten gewinner, mayores subidas, mayores ganancias",
		"losers":    "plus fortes baisses, plus grandes baisses, größten verlierer, mayores caídas, mayores pérdidas",
		"days":      "tagen, días, dias, jours",
		"more than": "mehr als, más de, mas de, plus de",
		"less than": "weniger als, menos de, moins de",
		"million":   "millionen, millones, millions",
		"billion":   "milliarde, milliarden, milliards, mil millones",
		"sorted by": "sortiert nach, ordenados por, ordenadas por, triés par, triées par, trié par",
		"tvl":       "valeur verrouillée, valeur verrouillee, valor bloqueado",
		"protocols": "protokolle, protocolos, protocoles",
		"total":     "gesamt, gesamte, insgesamt",
		"of": "der, die, das, den, dem, des, ein, eine, einen, von, vom, für, fuer, wie, ist, war, hoch, was, wieviel, viel, mir, " +
			"bitte, zeig, sag, im, wo, " +
			"steht, liegt, hat, zu, el, la, los, las, un, una, del, de, en, cual, cuál, es, cuanto, cuánto, está, esta, por, favor, " +
			"qué, que, dame, dime, cuáles, cuales, son, ha, han, welche, welcher, welches, sind, am, quelles, quels, ont, sont, " +
			"quais, são, foram, quali, sono,  какая, какой, у, il, lo, di, dello, della, qual, quale, è, é, o, do, da, em, na, " +
			"hoeveel, quanto, ile, kaç, kac, сколько, " +
			"wat, het, van, een, hoe, jaka, jaki, jest, ne, teraz, adesso, agora, nu, сейчас, " +
			"le, les, du, une, quel, quelle, est, combien, au, s il vous plaît, s il vous plait, sur, dernières, dernieres, últimas, " +
			"ultimas, sobre, über, " +
			"ueber, neueste, neuesten, c, à, l, d, n, qu, j",
		"what is": "como esta, cómo está, como está",
	} {
		for p := range strings.SplitSeq(phrases, ",") {
			all[strings.TrimSpace(p)] = said
		}
	}
	return all
}
