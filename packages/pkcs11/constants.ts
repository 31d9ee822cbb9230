/**
 * Numbers of PKCS#11 that this package uses: OASIS PKCS #11 Cryptographic Token Interface Base Specification 2.40 and 3.0
 * (§3 to §5), Current Mechanisms 2.40 and 3.0 (mechanisms of AES §2.8 to §2.15, RSA §2.1, ECDSA and EdDSA §2.3).
 */

/** The functions of CK_FUNCTION_LIST, in their order there (Base 2.40 §3.6, pkcs11f.h). 3.0 appends its own in another list. */
export const functionNames = [
  ...['C_Initialize', 'C_Finalize', 'C_GetInfo', 'C_GetFunctionList', 'C_GetSlotList', 'C_GetSlotInfo'],
  ...['C_GetTokenInfo', 'C_GetMechanismList', 'C_GetMechanismInfo', 'C_InitToken', 'C_InitPIN', 'C_SetPIN'],
  ...['C_OpenSession', 'C_CloseSession', 'C_CloseAllSessions', 'C_GetSessionInfo', 'C_GetOperationState'],
  ...['C_SetOperationState', 'C_Login', 'C_Logout', 'C_CreateObject', 'C_CopyObject', 'C_DestroyObject'],
  ...['C_GetObjectSize', 'C_GetAttributeValue', 'C_SetAttributeValue', 'C_FindObjectsInit', 'C_FindObjects'],
  ...['C_FindObjectsFinal', 'C_EncryptInit', 'C_Encrypt', 'C_EncryptUpdate', 'C_EncryptFinal'],
  ...['C_DecryptInit', 'C_Decrypt', 'C_DecryptUpdate', 'C_DecryptFinal', 'C_DigestInit', 'C_Digest'],
  ...[
    'C_DigestUpdate',
    'C_DigestKey',
    'C_DigestFinal',
    'C_SignInit',
    'C_Sign',
    'C_SignUpdate',
    'C_SignFinal',
  ],
  ...['C_SignRecoverInit', 'C_SignRecover', 'C_VerifyInit', 'C_Verify', 'C_VerifyUpdate', 'C_VerifyFinal'],
  ...['C_VerifyRecoverInit', 'C_VerifyRecover', 'C_DigestEncryptUpdate', 'C_DecryptDigestUpdate'],
  ...['C_SignEncryptUpdate', 'C_DecryptVerifyUpdate', 'C_GenerateKey', 'C_GenerateKeyPair', 'C_WrapKey'],
  ...['C_UnwrapKey', 'C_DeriveKey', 'C_SeedRandom', 'C_GenerateRandom'],
] as const

/** The functions that are called, with the number of their arguments. Each argument has the size of CK_ULONG or less. */
export const argumentCounts = {
  C_Initialize: 1,
  C_Finalize: 1,
  C_GetSlotList: 3,
  C_GetTokenInfo: 2,
  C_GetMechanismList: 3,
  C_GetMechanismInfo: 3,
  C_OpenSession: 5,
  C_CloseSession: 1,
  C_Login: 4,
  C_CreateObject: 4,
  C_DestroyObject: 2,
  C_GetAttributeValue: 4,
  C_FindObjectsInit: 3,
  C_FindObjects: 4,
  C_FindObjectsFinal: 1,
  C_EncryptInit: 3,
  C_Encrypt: 5,
  C_DecryptInit: 3,
  C_Decrypt: 5,
  C_SignInit: 3,
  C_Sign: 5,
  C_VerifyInit: 3,
  C_Verify: 5,
  C_GenerateKey: 5,
  C_GenerateKeyPair: 8,
  C_WrapKey: 6,
  C_UnwrapKey: 8,
  C_GenerateRandom: 3,
} as const satisfies Partial<Record<(typeof functionNames)[number], number>>

export type FunctionName = keyof typeof argumentCounts

/** Return values (Base 2.40 §5.1). */
export const returnValues = {
  CKR_OK: 0x0,
  CKR_CANCEL: 0x1,
  CKR_HOST_MEMORY: 0x2,
  CKR_SLOT_ID_INVALID: 0x3,
  CKR_GENERAL_ERROR: 0x5,
  CKR_FUNCTION_FAILED: 0x6,
  CKR_ARGUMENTS_BAD: 0x7,
  CKR_CANT_LOCK: 0xa,
  CKR_ATTRIBUTE_READ_ONLY: 0x10,
  CKR_ATTRIBUTE_SENSITIVE: 0x11,
  CKR_ATTRIBUTE_TYPE_INVALID: 0x12,
  CKR_ATTRIBUTE_VALUE_INVALID: 0x13,
  CKR_ACTION_PROHIBITED: 0x1b,
  CKR_DATA_INVALID: 0x20,
  CKR_DATA_LEN_RANGE: 0x21,
  CKR_DEVICE_ERROR: 0x30,
  CKR_DEVICE_MEMORY: 0x31,
  CKR_DEVICE_REMOVED: 0x32,
  CKR_ENCRYPTED_DATA_INVALID: 0x40,
  CKR_ENCRYPTED_DATA_LEN_RANGE: 0x41,
  CKR_FUNCTION_CANCELED: 0x50,
  CKR_FUNCTION_NOT_SUPPORTED: 0x54,
  CKR_KEY_HANDLE_INVALID: 0x60,
  CKR_KEY_SIZE_RANGE: 0x62,
  CKR_KEY_TYPE_INCONSISTENT: 0x63,
  CKR_KEY_FUNCTION_NOT_PERMITTED: 0x68,
  CKR_KEY_NOT_WRAPPABLE: 0x69,
  CKR_KEY_UNEXTRACTABLE: 0x6a,
  CKR_MECHANISM_INVALID: 0x70,
  CKR_MECHANISM_PARAM_INVALID: 0x71,
  CKR_OBJECT_HANDLE_INVALID: 0x82,
  CKR_OPERATION_ACTIVE: 0x90,
  CKR_OPERATION_NOT_INITIALIZED: 0x91,
  CKR_PIN_INCORRECT: 0xa0,
  CKR_PIN_INVALID: 0xa1,
  CKR_PIN_LEN_RANGE: 0xa2,
  CKR_PIN_EXPIRED: 0xa3,
  CKR_PIN_LOCKED: 0xa4,
  CKR_SESSION_CLOSED: 0xb0,
  CKR_SESSION_COUNT: 0xb1,
  CKR_SESSION_HANDLE_INVALID: 0xb3,
  CKR_SESSION_READ_ONLY: 0xb5,
  CKR_SESSION_READ_WRITE_SO_EXISTS: 0xb8,
  CKR_SIGNATURE_INVALID: 0xc0,
  CKR_SIGNATURE_LEN_RANGE: 0xc1,
  CKR_TEMPLATE_INCOMPLETE: 0xd0,
  CKR_TEMPLATE_INCONSISTENT: 0xd1,
  CKR_TOKEN_NOT_PRESENT: 0xe0,
  CKR_TOKEN_NOT_RECOGNIZED: 0xe1,
  CKR_TOKEN_WRITE_PROTECTED: 0xe2,
  CKR_UNWRAPPING_KEY_HANDLE_INVALID: 0xf0,
  CKR_UNWRAPPING_KEY_SIZE_RANGE: 0xf1,
  CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT: 0xf2,
  CKR_USER_ALREADY_LOGGED_IN: 0x100,
  CKR_USER_NOT_LOGGED_IN: 0x101,
  CKR_USER_PIN_NOT_INITIALIZED: 0x102,
  CKR_USER_TYPE_INVALID: 0x103,
  CKR_USER_ANOTHER_ALREADY_LOGGED_IN: 0x104,
  CKR_WRAPPED_KEY_INVALID: 0x110,
  CKR_WRAPPED_KEY_LEN_RANGE: 0x112,
  CKR_WRAPPING_KEY_HANDLE_INVALID: 0x113,
  CKR_WRAPPING_KEY_SIZE_RANGE: 0x114,
  CKR_WRAPPING_KEY_TYPE_INCONSISTENT: 0x115,
  CKR_RANDOM_NO_RNG: 0x121,
  CKR_DOMAIN_PARAMS_INVALID: 0x130,
  CKR_CURVE_NOT_SUPPORTED: 0x140,
  CKR_BUFFER_TOO_SMALL: 0x150,
  CKR_CRYPTOKI_NOT_INITIALIZED: 0x190,
  CKR_CRYPTOKI_ALREADY_INITIALIZED: 0x191,
  CKR_FUNCTION_REJECTED: 0x200,
} as const

export type ReturnValue = keyof typeof returnValues

const byNumber = new Map<number, ReturnValue>(
  Object.entries(returnValues).map(([name, value]) => [value, name as ReturnValue]),
)

/** The name of a return value: `CKR_PIN_INCORRECT`, or `0x80000001` for those of a vendor. */
export function formatReturnValue(value: number): string {
  return byNumber.get(value) ?? `0x${value.toString(16)}`
}

/** Object classes, key types and attributes (Base 2.40 §4). */
export const objectClasses = { public: 2, private: 3, secret: 4 } as const
export const keyTypes = { RSA: 0x0, EC: 0x3, generic: 0x10, AES: 0x1f, OKP: 0x40 } as const
export const attributes = {
  CKA_CLASS: 0x0,
  CKA_TOKEN: 0x1,
  CKA_PRIVATE: 0x2,
  CKA_LABEL: 0x3,
  CKA_VALUE: 0x11,
  CKA_KEY_TYPE: 0x100,
  CKA_ID: 0x102,
  CKA_SENSITIVE: 0x103,
  CKA_ENCRYPT: 0x104,
  CKA_DECRYPT: 0x105,
  CKA_WRAP: 0x106,
  CKA_UNWRAP: 0x107,
  CKA_SIGN: 0x108,
  CKA_VERIFY: 0x10a,
  CKA_MODULUS: 0x120,
  CKA_MODULUS_BITS: 0x121,
  CKA_PUBLIC_EXPONENT: 0x122,
  CKA_VALUE_LEN: 0x161,
  CKA_EXTRACTABLE: 0x162,
  CKA_LOCAL: 0x163,
  CKA_NEVER_EXTRACTABLE: 0x164,
  CKA_ALWAYS_SENSITIVE: 0x165,
  CKA_EC_PARAMS: 0x180,
  CKA_EC_POINT: 0x181,
} as const

export type AttributeName = keyof typeof attributes

/** Mechanisms (Current Mechanisms 3.0). */
export const mechanisms = {
  CKM_RSA_PKCS_KEY_PAIR_GEN: 0x0,
  CKM_RSA_PKCS: 0x1,
  CKM_RSA_X_509: 0x3,
  CKM_RSA_PKCS_PSS: 0xd,
  CKM_SHA_1: 0x220,
  CKM_SHA_1_HMAC: 0x221,
  CKM_SHA256: 0x250,
  CKM_SHA256_HMAC: 0x251,
  CKM_SHA224: 0x255,
  CKM_SHA224_HMAC: 0x256,
  CKM_SHA384: 0x260,
  CKM_SHA384_HMAC: 0x261,
  CKM_SHA512: 0x270,
  CKM_SHA512_HMAC: 0x271,
  CKM_GENERIC_SECRET_KEY_GEN: 0x350,
  CKM_EC_KEY_PAIR_GEN: 0x1040,
  CKM_ECDSA: 0x1041,
  CKM_EC_EDWARDS_KEY_PAIR_GEN: 0x1055,
  CKM_EDDSA: 0x1057,
  CKM_AES_KEY_GEN: 0x1080,
  CKM_AES_ECB: 0x1081,
  CKM_AES_CBC: 0x1082,
  CKM_AES_CTR: 0x1086,
  CKM_AES_GCM: 0x1087,
  CKM_AES_CMAC: 0x108a,
  CKM_AES_KEY_WRAP: 0x2109,
  CKM_AES_KEY_WRAP_PAD: 0x210a,
} as const

/** Mask generation functions of RSA-PSS (Current Mechanisms 2.40 §2.1.7). */
export const maskGenerationFunctions = {
  CKG_MGF1_SHA1: 1,
  CKG_MGF1_SHA256: 2,
  CKG_MGF1_SHA384: 3,
  CKG_MGF1_SHA512: 4,
  CKG_MGF1_SHA224: 5,
} as const

/** Flags of tokens, sessions and C_Initialize (Base 2.40 §3.2, §3.3, §3.7). */
export const flags = {
  CKF_LOGIN_REQUIRED: 0x4,
  CKF_USER_PIN_INITIALIZED: 0x8,
  CKF_TOKEN_INITIALIZED: 0x400,
  CKF_USER_PIN_FINAL_TRY: 0x20000,
  CKF_USER_PIN_LOCKED: 0x40000,
  CKF_RW_SESSION: 0x2,
  CKF_SERIAL_SESSION: 0x4,
  CKF_OS_LOCKING_OK: 0x2,
} as const

/** CK_UNAVAILABLE_INFORMATION: the length of an attribute that is not revealed (Base 2.40 §5.7, C_GetAttributeValue). */
export const unavailable = 0xffff_ffff_ffff_ffffn

/** Curves by CKA_EC_PARAMS: DER of the name (SEC 2, RFC 8410; edwards25519 by name as in Current Mechanisms 3.0 §2.3.10). */
export const curves = {
  'P-256': { params: '06082a8648ce3d030107', coordinateBytes: 32 },
  'P-384': { params: '06052b81040022', coordinateBytes: 48 },
  'P-521': { params: '06052b81040023', coordinateBytes: 66 },
  Ed25519: { params: '130c656477617264733235353139', coordinateBytes: 32 },
} as const

export type CurveName = keyof typeof curves
