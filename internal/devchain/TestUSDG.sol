// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A stand-in for USDG on a test chain.
/// @notice It does what payers and verifiers of the real token have to reckon with: 6 decimals, an owner who mints, pauses and
/// freezes, transfers that revert with a reason, calldata that may be longer than its parameters, and rewards that are claimed with a
/// Transfer log that no transfer made.
contract TestUSDG {
    string public constant name = "Test USDG";
    string public constant symbol = "USDG";
    uint8 public constant decimals = 6;

    address public immutable owner;
    uint256 public totalSupply;
    bool public paused;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public frozen;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor() {
        owner = msg.sender;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "only the owner");
        _;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "insufficient allowance");
        allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function mint(address to, uint256 value) external onlyOwner {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setPaused(bool stop) external onlyOwner {
        paused = stop;
    }

    function setFrozen(address who, bool stop) external onlyOwner {
        frozen[who] = stop;
    }

    /// @notice Pays a reward out of the owner's balance. The log names the owner, who has not sent the transaction.
    function claim(address to, uint256 value) external {
        move(owner, to, value);
    }

    function move(address from, address to, uint256 value) private {
        require(!paused, "paused");
        require(!frozen[from] && !frozen[to], "address frozen");
        require(to != address(0), "transfer to nobody");
        uint256 have = balanceOf[from];
        require(have >= value, "insufficient balance");
        unchecked {
            balanceOf[from] = have - value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }
}
