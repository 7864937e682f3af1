// Compiles TestUSDG.sol to TestUSDG.bin and TestUSDG.abi.json. It is needed only after a change of the source:
//   npm install --no-save solc@0.8.37 @openzeppelin/contracts@5.7 && node compile.mjs
import { readFileSync, writeFileSync } from "node:fs";
import solc from "solc";

const input = {
  language: "Solidity",
  sources: { "TestUSDG.sol": { content: readFileSync("TestUSDG.sol", "utf8") } },
  settings: {
    evmVersion: "cancun",
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: "none", appendCBOR: false },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  },
};
const imports = (path) => ({ contents: readFileSync("node_modules/" + path, "utf8") });
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: imports }));
for (const e of output.errors ?? []) console.error(e.formattedMessage);
const contract = output.contracts["TestUSDG.sol"].TestUSDG;
writeFileSync("TestUSDG.bin", contract.evm.bytecode.object + "\n");
// What errors the contract has is of no use to the binding, which would be half as long again.
const abi = contract.abi.filter((entry) => entry.type !== "error");
writeFileSync("TestUSDG.abi.json", JSON.stringify(abi, null, 1) + "\n");
