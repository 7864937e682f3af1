package source

// RowsOf is what upstream said in d, to be written as JSON, without what our clock and what was said before add to it: two services that
// were told the same have it both. whole reports that it is all of d.
func RowsOf(d Doc) (rows any, whole bool) {
	switch d := d.(type) {
	case *FearGreedDoc:
		return FearGreedDoc{Days: d.Days}, false
	case *ChainsDoc:
		list := make([]Chain, len(d.Chains))
		for i, c := range d.Chains {
			list[i] = Chain{Name: c.Name, CoinID: c.CoinID, TVL: c.TVL}
		}
		return list, false
	case *RowsDoc:
		list := make([]DeclaredRow, len(d.Rows))
		for i, r := range d.Rows {
			list[i] = r
			list[i].Values = nil
			for _, v := range r.Values {
				if !v.Ours {
					list[i].Values = append(list[i].Values, v)
				}
			}
		}
		return list, false
	}
	return d, true
}
