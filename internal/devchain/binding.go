//go:build !nodevchain

// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package devchain

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// TestUSDGMetaData contains all meta data concerning the TestUSDG contract.
var TestUSDGMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Approval\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationCanceled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationUsed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"EIP712DomainChanged\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Transfer\",\"type\":\"event\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"}],\"name\":\"allowance\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"approve\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"authorizationState\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"balanceOf\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"cancelAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"claim\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"decimals\",\"outputs\":[{\"internalType\":\"uint8\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"pure\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"eip712Domain\",\"outputs\":[{\"internalType\":\"bytes1\",\"name\":\"fields\",\"type\":\"bytes1\"},{\"internalType\":\"string\",\"name\":\"name\",\"type\":\"string\"},{\"internalType\":\"string\",\"name\":\"version\",\"type\":\"string\"},{\"internalType\":\"uint256\",\"name\":\"chainId\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"verifyingContract\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"},{\"internalType\":\"uint256[]\",\"name\":\"extensions\",\"type\":\"uint256[]\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"frozen\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"mint\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"name\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"owner\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"paused\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"receiveWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"who\",\"type\":\"address\"},{\"internalType\":\"bool\",\"name\":\"stop\",\"type\":\"bool\"}],\"name\":\"setFrozen\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bool\",\"name\":\"stop\",\"type\":\"bool\"}],\"name\":\"setPaused\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"symbol\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"totalSupply\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"transferWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "TestUSDG",
	Bin: "0x610180604052348015610010575f5ffd5b506040518060400160405280600d81526020016c23b637b130b6102237b63630b960991b815250604051806040016040528060018152602001603160f81b8152506040518060400160405280600981526020016854657374205553444760b81b815250604051806040016040528060048152602001635553444760e01b815250816003908161009f9190610253565b5060046100ac8282610253565b5050506100be8261016a60201b60201c565b610120526100cb8161016a565b61014052815160208084019190912060e052815190820120610100524660a05261015760e05161010051604080517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f60208201529081019290925260608201524660808201523060a08201525f9060c00160405160208183030381529060405280519060200120905090565b60805250503060c0523361016052610369565b5f5f829050601f8151111561019d578260405163305a27a960e01b81526004016101949190610311565b60405180910390fd5b80516101a882610346565b179392505050565b634e487b7160e01b5f52604160045260245ffd5b600181811c908216806101d857607f821691505b6020821081036101f657634e487b7160e01b5f52602260045260245ffd5b50919050565b601f82111561024e578282111561024e57805f5260205f20601f840160051c602085101561022757505f5b90810190601f840160051c035f5b8181101561024a575f83820155600101610235565b5050505b505050565b81516001600160401b0381111561026c5761026c6101b0565b6102808161027a84546101c4565b846101fc565b6020601f8211600181146102b2575f831561029b5750848201515b5f19600385901b1c1916600184901b17845561030a565b5f84815260208120601f198516915b828110156102e157878501518255602094850194600190920191016102c1565b50848210156102fe57868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b805160208083015191908110156101f6575f1960209190910360031b1b16919050565b60805160a05160c05160e051610100516101205161014051610160516115826103e05f395f818161023b01528181610422015281816104a90152818161060f015261064001525f6109f701525f6109c701525f610d5101525f610d2901525f610c8401525f610cae01525f610cd801526115825ff3fe608060405234801561000f575f5ffd5b5060043610610132575f3560e01c806384b0196e116100b4578063ac869cd811610079578063ac869cd8146102a3578063d0516650146102b6578063dd62ed3e146102d8578063e3ee160e14610310578063e94a010214610323578063ef55bec61461035b575f5ffd5b806384b0196e1461021b5780638da5cb5b1461023657806395d89b4114610275578063a9059cbb1461027d578063aad3ec9614610290575f5ffd5b8063313ce567116100fa578063313ce567146101b157806340c10f19146101c05780635a049a70146101d35780635c975abb146101e657806370a08231146101f3575f5ffd5b806306fdde0314610136578063095ea7b31461015457806316c38b3c1461017757806318160ddd1461018c57806323b872dd1461019e575b5f5ffd5b61013e61036e565b60405161014b9190611218565b60405180910390f35b61016761016236600461124c565b6103fe565b604051901515815260200161014b565b61018a610185366004611283565b610417565b005b6002545b60405190815260200161014b565b6101676101ac36600461129c565b61047b565b6040516006815260200161014b565b61018a6101ce36600461124c565b61049e565b61018a6101e13660046112e6565b6104f4565b6008546101679060ff1681565b610190610201366004611330565b6001600160a01b03165f9081526020819052604090205490565b6102236105ac565b60405161014b9796959493929190611349565b61025d7f000000000000000000000000000000000000000000000000000000000000000081565b6040516001600160a01b03909116815260200161014b565b61013e6105ee565b61016761028b36600461124c565b6105fd565b61018a61029e36600461124c565b61060a565b61018a6102b13660046113df565b610635565b6101676102c4366004611330565b60096020525f908152604090205460ff1681565b6101906102e6366004611410565b6001600160a01b039182165f90815260016020908152604080832093909416825291909152205490565b61018a61031e366004611438565b6106a7565b61016761033136600461124c565b6001600160a01b03919091165f908152600760209081526040808320938352929052205460ff1690565b61018a610369366004611438565b610741565b60606003805461037d906114b3565b80601f01602080910402602001604051908101604052809291908181526020018280546103a9906114b3565b80156103f45780601f106103cb576101008083540402835291602001916103f4565b820191905f5260205f20905b8154815290600101906020018083116103d757829003601f168201915b5050505050905090565b5f3361040b818585610806565b60019150505b92915050565b336001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016146104685760405162461bcd60e51b815260040161045f906114eb565b60405180910390fd5b6008805460ff1916911515919091179055565b5f33610488858285610818565b610493858585610894565b506001949350505050565b336001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016146104e65760405162461bcd60e51b815260040161045f906114eb565b6104f082826108f1565b5050565b604080517f158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a159742960208201526001600160a01b03871691810191909152606081018590525f9061055b906080015b60405160208183030381529060405280519060200120610925565b905061056981858585610951565b6001600160a01b0316866001600160a01b03161461059a57604051631df081fd60e21b815260040160405180910390fd5b6105a4868661097d565b505050505050565b5f6060805f5f5f60606105bd6109c0565b6105c56109f0565b604080515f80825260208201909252600f60f81b9b939a50919850469750309650945092509050565b60606004805461037d906114b3565b5f3361040b818585610894565b6104f07f00000000000000000000000000000000000000000000000000000000000000008383610894565b336001600160a01b037f0000000000000000000000000000000000000000000000000000000000000000161461067d5760405162461bcd60e51b815260040161045f906114eb565b6001600160a01b03919091165f908152600960205260409020805460ff1916911515919091179055565b5f6106e87f7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a22678b8b8b8b8b8b6040516020016105409796959493929190611513565b90506106f681858585610951565b6001600160a01b03168a6001600160a01b03161461072757604051631df081fd60e21b815260040160405180910390fd5b6107358a8a8a8a8a8a610a1b565b50505050505050505050565b5f6107827fd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de88b8b8b8b8b8b6040516020016105409796959493929190611513565b905061079081858585610951565b6001600160a01b03168a6001600160a01b0316146107c157604051631df081fd60e21b815260040160405180910390fd5b886001600160a01b03811633146107f75760405163ec442f0560e01b81526001600160a01b03909116600482015260240161045f565b506107358a8a8a8a8a8a610a1b565b6108138383836001610a6f565b505050565b6001600160a01b038381165f908152600160209081526040808320938616835292905220545f1981101561088e578181101561088057604051637dc7a0d960e11b81526001600160a01b0384166004820152602481018290526044810183905260640161045f565b61088e84848484035f610a6f565b50505050565b6001600160a01b0383166108bd57604051634b637e8f60e11b81525f600482015260240161045f565b6001600160a01b0382166108e65760405163ec442f0560e01b81525f600482015260240161045f565b610813838383610b41565b6001600160a01b03821661091a5760405163ec442f0560e01b81525f600482015260240161045f565b6104f05f8383610b41565b5f610411610931610c78565b8360405161190160f01b8152600281019290925260228201526042902090565b5f5f5f5f61096188888888610da1565b9250925092506109718282610e69565b50909695505050505050565b6109878282610f21565b60405181906001600160a01b038416907f1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81905f90a35050565b60606109eb7f0000000000000000000000000000000000000000000000000000000000000000610fab565b905090565b60606109eb7f0000000000000000000000000000000000000000000000000000000000000000610fab565b610a258383610fe8565b610a2f8682610f21565b60405181906001600160a01b038816907f98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5905f90a36105a4868686610894565b6001600160a01b038416610a985760405163e602df0560e01b81525f600482015260240161045f565b6001600160a01b038316610ac157604051634a1406b160e11b81525f600482015260240161045f565b6001600160a01b038085165f908152600160209081526040808320938716835292905220829055801561088e57826001600160a01b0316846001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b92584604051610b3391815260200190565b60405180910390a350505050565b6001600160a01b03831615610c6d5760085460ff1615610b8c5760405162461bcd60e51b81526020600482015260066024820152651c185d5cd95960d21b604482015260640161045f565b6001600160a01b0383165f9081526009602052604090205460ff16158015610bcc57506001600160a01b0382165f9081526009602052604090205460ff16155b610c095760405162461bcd60e51b815260206004820152600e60248201526d30b2323932b9b990333937bd32b760911b604482015260640161045f565b80610c28846001600160a01b03165f9081526020819052604090205490565b1015610c6d5760405162461bcd60e51b8152602060048201526014602482015273696e73756666696369656e742062616c616e636560601b604482015260640161045f565b610813838383611057565b5f306001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016148015610cd057507f000000000000000000000000000000000000000000000000000000000000000046145b15610cfa57507f000000000000000000000000000000000000000000000000000000000000000090565b6109eb604080517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f60208201527f0000000000000000000000000000000000000000000000000000000000000000918101919091527f000000000000000000000000000000000000000000000000000000000000000060608201524660808201523060a08201525f9060c00160405160208183030381529060405280519060200120905090565b5f80807f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0841115610dda57505f91506003905082610e5f565b604080515f808252602082018084528a905260ff891692820192909252606081018790526080810186905260019060a0016020604051602081039080840390855afa158015610e2b573d5f5f3e3d5ffd5b5050604051601f1901519150506001600160a01b038116610e5657505f925060019150829050610e5f565b92505f91508190505b9450945094915050565b5f826003811115610e7c57610e7c61154f565b03610e85575050565b6001826003811115610e9957610e9961154f565b03610eb75760405163f645eedf60e01b815260040160405180910390fd5b6002826003811115610ecb57610ecb61154f565b03610eec5760405163fce698f760e01b81526004810182905260240161045f565b6003826003811115610f0057610f0061154f565b036104f0576040516335e2f38360e21b81526004810182905260240161045f565b6001600160a01b0382165f9081526007602090815260408083208484529091529020548290829060ff1615610f7a57604051638f7808c160e01b81526001600160a01b039092166004830152602482015260440161045f565b50506001600160a01b039091165f90815260076020908152604080832093835292905220805460ff19166001179055565b60605f610fb78361117d565b6040805160208082528183019092529192505f91906020820181803683375050509182525060208101929092525090565b81811665800000000000165f8115611007576110026111a4565b61100f565b61100f6111ae565b65ffffffffffff169050811984168111801561102d57508119831681105b848490916105a457604051634a931c1760e01b81526004810192909252602482015260440161045f565b6001600160a01b038316611081578060025f8282546110769190611563565b909155506110f19050565b6001600160a01b0383165f90815260208190526040902054818110156110d35760405163391434e360e21b81526001600160a01b0385166004820152602481018290526044810183905260640161045f565b6001600160a01b0384165f9081526020819052604090209082900390555b6001600160a01b03821661110d5760028054829003905561112b565b6001600160a01b0382165f9081526020819052604090208054820190555b816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef8360405161117091815260200190565b60405180910390a3505050565b5f60ff8216601f81111561041157604051632cd44ac360e21b815260040160405180910390fd5b5f6109eb436111b4565b5f6109eb425b5f65ffffffffffff8211156111e6576040516306dfcc6560e41b8152603060048201526024810183905260440161045f565b5090565b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b602081525f61122a60208301846111ea565b9392505050565b80356001600160a01b0381168114611247575f5ffd5b919050565b5f5f6040838503121561125d575f5ffd5b61126683611231565b946020939093013593505050565b80358015158114611247575f5ffd5b5f60208284031215611293575f5ffd5b61122a82611274565b5f5f5f606084860312156112ae575f5ffd5b6112b784611231565b92506112c560208501611231565b929592945050506040919091013590565b803560ff81168114611247575f5ffd5b5f5f5f5f5f60a086880312156112fa575f5ffd5b61130386611231565b945060208601359350611318604087016112d6565b94979396509394606081013594506080013592915050565b5f60208284031215611340575f5ffd5b61122a82611231565b60ff60f81b8816815260e060208201525f61136760e08301896111ea565b828103604084015261137981896111ea565b606084018890526001600160a01b038716608085015260a0840186905283810360c0850152845180825260208087019350909101905f5b818110156113ce5783518352602093840193909201916001016113b0565b50909b9a5050505050505050505050565b5f5f604083850312156113f0575f5ffd5b6113f983611231565b915061140760208401611274565b90509250929050565b5f5f60408385031215611421575f5ffd5b61142a83611231565b915061140760208401611231565b5f5f5f5f5f5f5f5f5f6101208a8c031215611451575f5ffd5b61145a8a611231565b985061146860208b01611231565b975060408a0135965060608a0135955060808a0135945060a08a0135935061149260c08b016112d6565b989b979a50959894979396929550929360e081013593506101000135919050565b600181811c908216806114c757607f821691505b6020821081036114e557634e487b7160e01b5f52602260045260245ffd5b50919050565b6020808252600e908201526d37b7363c903a34329037bbb732b960911b604082015260600190565b9687526001600160a01b0395861660208801529390941660408601526060850191909152608084015260a083019190915260c082015260e00190565b634e487b7160e01b5f52602160045260245ffd5b8082018082111561041157634e487b7160e01b5f52601160045260245ffd",
}

// TestUSDG is an auto generated Go binding around an Ethereum contract.
type TestUSDG struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestUSDG) GetABI() abi.ABI {
	return c.abi
}

// NewTestUSDG creates a new instance of TestUSDG.
func NewTestUSDG() *TestUSDG {
	parsed, err := TestUSDGMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestUSDG{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestUSDG) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDG *TestUSDG) PackAllowance(owner common.Address, spender common.Address) []byte {
	enc, err := testUSDG.abi.Pack("allowance", owner, spender)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDG *TestUSDG) TryPackAllowance(owner common.Address, spender common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("allowance", owner, spender)
}

// UnpackAllowance is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdd62ed3e.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDG *TestUSDG) UnpackAllowance(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("allowance", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackApprove(spender common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("approve", spender, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackApprove(spender common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("approve", spender, value)
}

// UnpackApprove is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x095ea7b3.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackApprove(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("approve", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackAuthorizationState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe94a0102.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDG *TestUSDG) PackAuthorizationState(authorizer common.Address, nonce [32]byte) []byte {
	enc, err := testUSDG.abi.Pack("authorizationState", authorizer, nonce)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAuthorizationState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe94a0102.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDG *TestUSDG) TryPackAuthorizationState(authorizer common.Address, nonce [32]byte) ([]byte, error) {
	return testUSDG.abi.Pack("authorizationState", authorizer, nonce)
}

// UnpackAuthorizationState is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe94a0102.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDG *TestUSDG) UnpackAuthorizationState(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("authorizationState", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDG *TestUSDG) PackBalanceOf(account common.Address) []byte {
	enc, err := testUSDG.abi.Pack("balanceOf", account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDG *TestUSDG) TryPackBalanceOf(account common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("balanceOf", account)
}

// UnpackBalanceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x70a08231.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDG *TestUSDG) UnpackBalanceOf(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("balanceOf", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackCancelAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5a049a70.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) PackCancelAuthorization(authorizer common.Address, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDG.abi.Pack("cancelAuthorization", authorizer, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCancelAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5a049a70.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) TryPackCancelAuthorization(authorizer common.Address, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDG.abi.Pack("cancelAuthorization", authorizer, nonce, v, r, s)
}

// PackClaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xaad3ec96.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function claim(address to, uint256 value) returns()
func (testUSDG *TestUSDG) PackClaim(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("claim", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackClaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xaad3ec96.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function claim(address to, uint256 value) returns()
func (testUSDG *TestUSDG) TryPackClaim(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("claim", to, value)
}

// PackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDG *TestUSDG) PackDecimals() []byte {
	enc, err := testUSDG.abi.Pack("decimals")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDG *TestUSDG) TryPackDecimals() ([]byte, error) {
	return testUSDG.abi.Pack("decimals")
}

// UnpackDecimals is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x313ce567.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDG *TestUSDG) UnpackDecimals(data []byte) (uint8, error) {
	out, err := testUSDG.abi.Unpack("decimals", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (testUSDG *TestUSDG) PackEip712Domain() []byte {
	enc, err := testUSDG.abi.Pack("eip712Domain")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (testUSDG *TestUSDG) TryPackEip712Domain() ([]byte, error) {
	return testUSDG.abi.Pack("eip712Domain")
}

// Eip712DomainOutput serves as a container for the return parameters of contract
// method Eip712Domain.
type Eip712DomainOutput struct {
	Fields            [1]byte
	Name              string
	Version           string
	ChainId           *big.Int
	VerifyingContract common.Address
	Salt              [32]byte
	Extensions        []*big.Int
}

// UnpackEip712Domain is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x84b0196e.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (testUSDG *TestUSDG) UnpackEip712Domain(data []byte) (Eip712DomainOutput, error) {
	out, err := testUSDG.abi.Unpack("eip712Domain", data)
	outstruct := new(Eip712DomainOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Fields = *abi.ConvertType(out[0], new([1]byte)).(*[1]byte)
	outstruct.Name = *abi.ConvertType(out[1], new(string)).(*string)
	outstruct.Version = *abi.ConvertType(out[2], new(string)).(*string)
	outstruct.ChainId = abi.ConvertType(out[3], new(big.Int)).(*big.Int)
	outstruct.VerifyingContract = *abi.ConvertType(out[4], new(common.Address)).(*common.Address)
	outstruct.Salt = *abi.ConvertType(out[5], new([32]byte)).(*[32]byte)
	outstruct.Extensions = *abi.ConvertType(out[6], new([]*big.Int)).(*[]*big.Int)
	return *outstruct, nil
}

// PackFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0516650.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) PackFrozen(arg0 common.Address) []byte {
	enc, err := testUSDG.abi.Pack("frozen", arg0)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0516650.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) TryPackFrozen(arg0 common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("frozen", arg0)
}

// UnpackFrozen is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd0516650.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) UnpackFrozen(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("frozen", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDG *TestUSDG) PackMint(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("mint", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDG *TestUSDG) TryPackMint(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("mint", to, value)
}

// PackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) PackName() []byte {
	enc, err := testUSDG.abi.Pack("name")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) TryPackName() ([]byte, error) {
	return testUSDG.abi.Pack("name")
}

// UnpackName is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x06fdde03.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) UnpackName(data []byte) (string, error) {
	out, err := testUSDG.abi.Unpack("name", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) PackOwner() []byte {
	enc, err := testUSDG.abi.Pack("owner")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) TryPackOwner() ([]byte, error) {
	return testUSDG.abi.Pack("owner")
}

// UnpackOwner is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8da5cb5b.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) UnpackOwner(data []byte) (common.Address, error) {
	out, err := testUSDG.abi.Unpack("owner", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) PackPaused() []byte {
	enc, err := testUSDG.abi.Pack("paused")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) TryPackPaused() ([]byte, error) {
	return testUSDG.abi.Pack("paused")
}

// UnpackPaused is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5c975abb.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) UnpackPaused(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("paused", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackReceiveWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef55bec6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) PackReceiveWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDG.abi.Pack("receiveWithAuthorization", from, to, value, validAfter, validBefore, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackReceiveWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef55bec6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) TryPackReceiveWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDG.abi.Pack("receiveWithAuthorization", from, to, value, validAfter, validBefore, nonce, v, r, s)
}

// PackSetFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac869cd8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setFrozen(address who, bool stop) returns()
func (testUSDG *TestUSDG) PackSetFrozen(who common.Address, stop bool) []byte {
	enc, err := testUSDG.abi.Pack("setFrozen", who, stop)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac869cd8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setFrozen(address who, bool stop) returns()
func (testUSDG *TestUSDG) TryPackSetFrozen(who common.Address, stop bool) ([]byte, error) {
	return testUSDG.abi.Pack("setFrozen", who, stop)
}

// PackSetPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16c38b3c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setPaused(bool stop) returns()
func (testUSDG *TestUSDG) PackSetPaused(stop bool) []byte {
	enc, err := testUSDG.abi.Pack("setPaused", stop)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16c38b3c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setPaused(bool stop) returns()
func (testUSDG *TestUSDG) TryPackSetPaused(stop bool) ([]byte, error) {
	return testUSDG.abi.Pack("setPaused", stop)
}

// PackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) PackSymbol() []byte {
	enc, err := testUSDG.abi.Pack("symbol")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) TryPackSymbol() ([]byte, error) {
	return testUSDG.abi.Pack("symbol")
}

// UnpackSymbol is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x95d89b41.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) UnpackSymbol(data []byte) (string, error) {
	out, err := testUSDG.abi.Unpack("symbol", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) PackTotalSupply() []byte {
	enc, err := testUSDG.abi.Pack("totalSupply")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) TryPackTotalSupply() ([]byte, error) {
	return testUSDG.abi.Pack("totalSupply")
}

// UnpackTotalSupply is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x18160ddd.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) UnpackTotalSupply(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("totalSupply", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackTransfer(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("transfer", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackTransfer(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("transfer", to, value)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackTransfer(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("transfer", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackTransferFrom(from common.Address, to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("transferFrom", from, to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackTransferFrom(from common.Address, to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("transferFrom", from, to, value)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("transferFrom", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3ee160e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) PackTransferWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDG.abi.Pack("transferWithAuthorization", from, to, value, validAfter, validBefore, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3ee160e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDG *TestUSDG) TryPackTransferWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDG.abi.Pack("transferWithAuthorization", from, to, value, validAfter, validBefore, nonce, v, r, s)
}

// TestUSDGApproval represents a Approval event raised by the TestUSDG contract.
type TestUSDGApproval struct {
	Owner   common.Address
	Spender common.Address
	Value   *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const TestUSDGApprovalEventName = "Approval"

// ContractEventName returns the user-defined event name.
func (TestUSDGApproval) ContractEventName() string {
	return TestUSDGApprovalEventName
}

// UnpackApprovalEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Approval(address indexed owner, address indexed spender, uint256 value)
func (testUSDG *TestUSDG) UnpackApprovalEvent(log *types.Log) (*TestUSDGApproval, error) {
	event := "Approval"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGApproval)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDGAuthorizationCanceled represents a AuthorizationCanceled event raised by the TestUSDG contract.
type TestUSDGAuthorizationCanceled struct {
	Authorizer common.Address
	Nonce      [32]byte
	Raw        *types.Log // Blockchain specific contextual infos
}

const TestUSDGAuthorizationCanceledEventName = "AuthorizationCanceled"

// ContractEventName returns the user-defined event name.
func (TestUSDGAuthorizationCanceled) ContractEventName() string {
	return TestUSDGAuthorizationCanceledEventName
}

// UnpackAuthorizationCanceledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)
func (testUSDG *TestUSDG) UnpackAuthorizationCanceledEvent(log *types.Log) (*TestUSDGAuthorizationCanceled, error) {
	event := "AuthorizationCanceled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGAuthorizationCanceled)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDGAuthorizationUsed represents a AuthorizationUsed event raised by the TestUSDG contract.
type TestUSDGAuthorizationUsed struct {
	Authorizer common.Address
	Nonce      [32]byte
	Raw        *types.Log // Blockchain specific contextual infos
}

const TestUSDGAuthorizationUsedEventName = "AuthorizationUsed"

// ContractEventName returns the user-defined event name.
func (TestUSDGAuthorizationUsed) ContractEventName() string {
	return TestUSDGAuthorizationUsedEventName
}

// UnpackAuthorizationUsedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)
func (testUSDG *TestUSDG) UnpackAuthorizationUsedEvent(log *types.Log) (*TestUSDGAuthorizationUsed, error) {
	event := "AuthorizationUsed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGAuthorizationUsed)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDGEIP712DomainChanged represents a EIP712DomainChanged event raised by the TestUSDG contract.
type TestUSDGEIP712DomainChanged struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const TestUSDGEIP712DomainChangedEventName = "EIP712DomainChanged"

// ContractEventName returns the user-defined event name.
func (TestUSDGEIP712DomainChanged) ContractEventName() string {
	return TestUSDGEIP712DomainChangedEventName
}

// UnpackEIP712DomainChangedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event EIP712DomainChanged()
func (testUSDG *TestUSDG) UnpackEIP712DomainChangedEvent(log *types.Log) (*TestUSDGEIP712DomainChanged, error) {
	event := "EIP712DomainChanged"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGEIP712DomainChanged)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDGTransfer represents a Transfer event raised by the TestUSDG contract.
type TestUSDGTransfer struct {
	From  common.Address
	To    common.Address
	Value *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const TestUSDGTransferEventName = "Transfer"

// ContractEventName returns the user-defined event name.
func (TestUSDGTransfer) ContractEventName() string {
	return TestUSDGTransferEventName
}

// UnpackTransferEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Transfer(address indexed from, address indexed to, uint256 value)
func (testUSDG *TestUSDG) UnpackTransferEvent(log *types.Log) (*TestUSDGTransfer, error) {
	event := "Transfer"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGTransfer)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}
