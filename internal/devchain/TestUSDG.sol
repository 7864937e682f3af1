// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

/// @title A stand-in for USDG on a test chain.
/// @notice It does what payers and verifiers of the real token have to reckon with: 6 decimals, an owner who mints, pauses and
/// freezes, transfers that revert with a reason, calldata that may be longer than its parameters, transfers by a signed authorization
/// (EIP-3009, with the signing domain of USDG), and rewards that are claimed with a Transfer log that no transfer made.
contract TestUSDG is ERC20, ERC3009 {
    address public immutable owner;
    bool public paused;
    mapping(address => bool) public frozen;

    constructor() ERC20("Test USDG", "USDG") EIP712("Global Dollar", "1") {
        owner = msg.sender;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "only the owner");
        _;
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 value) external onlyOwner {
        _mint(to, value);
    }

    function setPaused(bool stop) external onlyOwner {
        paused = stop;
    }

    function setFrozen(address who, bool stop) external onlyOwner {
        frozen[who] = stop;
    }

    /// @notice Pays a reward out of the owner's balance. The log names the owner, who has not sent the transaction.
    function claim(address to, uint256 value) external {
        _transfer(owner, to, value);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from != address(0)) {
            require(!paused, "paused");
            require(!frozen[from] && !frozen[to], "address frozen");
            require(balanceOf(from) >= value, "insufficient balance");
        }
        super._update(from, to, value);
    }
}
