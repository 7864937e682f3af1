package metrics

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"slices"

	"github.com/contextd/contextd/internal/human"
)

// boardHTML is the page of the admin address: how the daemon and its jobs do, to be read alone.
const boardHTML = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<title>{{if .Reason}}not ready{{else}}ready{{end}} · contextd</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>contextd</h1>
<p>{{with .Reason}}<strong>Not ready:</strong> {{.}}.{{else}}<strong>Ready.</strong>{{end}} Seen at {{.Now}}.
<a href="metrics">Metrics</a> · <a href="debug/pprof/">profiles</a></p>
{{with .Cluster}}<table><caption>{{.Summary}}; lease renewed {{.Beat}} ago</caption>
<thead><tr><th scope="col">Node</th><th scope="col">Role</th><th scope="col">Seen</th><th scope="col">Behind</th></tr></thead><tbody>
{{range .Members}}<tr><th scope="row">{{.URL}}{{if .Self}} (this one){{end}}</th><td>{{.Role}}</td><td>{{.Seen}} ago</td><td>{{.Behind}}</td></tr>
{{end}}</tbody></table>
{{end}}<table><caption>States</caption><thead><tr><th scope="col">Pack</th><th scope="col">Age</th></tr></thead><tbody>
{{range .Ages}}<tr><th scope="row">{{.Name}}</th><td>{{.Text}}</td></tr>
{{else}}<tr><td colspan="2">No pack has a state yet.</td></tr>
{{end}}</tbody></table>
<table><caption>Jobs</caption><thead><tr><th scope="col">Job</th><th scope="col">Last good run</th><th scope="col">Failed runs since the start</th></tr></thead><tbody>
{{range .Jobs}}<tr><th scope="row">{{.Name}}</th><td>{{.Text}}</td><td{{if .Failures}} class="bad"{{end}}>{{.Failures}}</td></tr>
{{end}}</tbody></table>
</main>
</body>
</html>
`

const boardCSS = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:0}main{max-width:48rem;margin:0 auto;padding:1rem}` +
	`table{border-collapse:collapse;width:100%;margin:1rem 0;font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600}` +
	`th,td{text-align:left;font-weight:400;padding:.25rem .5rem;border-top:1px solid #8884}thead th{opacity:.7}thead th:last-child,td:last-child{text-align:right}` +
	`td:nth-child(2){white-space:nowrap}h1{font-size:1.25rem}.bad{font-weight:700}.bad::before{content:"✗ "}a{color:inherit}`

type jobRow struct {
	Name, Text string
	Failures   int64
}

func (m *Metrics) writeJobs(ctx context.Context, w http.ResponseWriter, reason string) {
	data := struct {
		Style       template.CSS
		Reason, Now string
		Ages, Jobs  []jobRow
		Cluster     *Cluster
	}{Style: boardCSS, Reason: reason, Now: m.now().UTC().Format("2006-01-02 15:04:05Z")}
	if m.readings.Cluster != nil {
		if c, err := m.readings.Cluster(ctx); err == nil && len(c.Members) > 0 { // else the reason says it
			data.Cluster = &c
		}
	}
	if m.readings.Ages != nil {
		ages := m.readings.Ages()
		for _, pack := range slices.Sorted(maps.Keys(ages)) {
			data.Ages = append(data.Ages, jobRow{Name: pack, Text: human.Age(ages[pack])})
		}
	}
	if m.readings.Jobs != nil {
		jobs := m.readings.Jobs()
		for _, name := range slices.Sorted(maps.Keys(jobs)) {
			row := jobRow{Name: name, Text: "never", Failures: jobs[name].Failures}
			if at := jobs[name].Succeeded; !at.IsZero() {
				row.Text = human.Age(m.now().Sub(at)) + " ago"
			}
			data.Jobs = append(data.Jobs, row)
		}
	}
	var b bytes.Buffer
	if err := template.Must(template.New("board").Parse(boardHTML)).Execute(&b, data); err != nil {
		http.Error(w, "page not rendered", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	sum := sha256.Sum256([]byte(boardCSS))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // a client that has left is no error of ours
}
