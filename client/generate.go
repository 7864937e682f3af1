package client

//go:generate go run ../cmd/ctx completion bash --out ../completions/ctx.bash
//go:generate go run ../cmd/ctx completion zsh --out ../completions/ctx.zsh
//go:generate go run ../cmd/ctx completion fish --out ../completions/ctx.fish
//go:generate go run ../cmd/ctx completion powershell --out ../completions/ctx.ps1
