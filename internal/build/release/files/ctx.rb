# ctx of a release of contextd. In a tap this is Formula/ctx.rb.
class Ctx < Formula
  desc "Fresh, cited context for AI agents, from a context service"
  homepage "https://github.com/contextd/contextd"
  version "@VERSION@"
  license all_of: ["Apache-2.0", "LGPL-3.0-or-later", "MPL-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/contextd/contextd/releases/download/v@VERSION@/ctx_@VERSION@_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "https://github.com/contextd/contextd/releases/download/v@VERSION@/ctx_@VERSION@_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/contextd/contextd/releases/download/v@VERSION@/ctx_@VERSION@_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "https://github.com/contextd/contextd/releases/download/v@VERSION@/ctx_@VERSION@_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "ctx"
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/ctx.bash" => "ctx"
    zsh_completion.install "completions/ctx.zsh" => "_ctx"
    fish_completion.install "completions/ctx.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ctx version")
  end
end
