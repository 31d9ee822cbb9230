/**
 * Additions to the tables of the standard: values in use that are later than KMIP 2.1, extension values (>=
 * 0x80000000), spellings of the XML profile where the source differs from it, and other accepted spellings.
 * Imported only by `generate.ts`.
 */

/** Tags missing in the source tables: those of 1.x that 2.x no longer has, and extensions. */
export const addedTags: Readonly<Record<string, number>> = {
  CertificateIdentifier: 0x420014,
  CertificateIssuer: 0x420015,
  CertificateIssuerAlternativeName: 0x420016,
  CertificateIssuerDistinguishedName: 0x420017,
  CertificateSubject: 0x42001a,
  CertificateSubjectAlternativeName: 0x42001b,
  CertificateSubjectDistinguishedName: 0x42001c,
  Issuer: 0x42003b,
  OperationPolicyName: 0x42005d,
  SerialNumber: 0x420087,
  // Members of Destroy and Revoke that clients of other servers send; extensions (KMIP 2.1 §10.1.1) with
  // numbers of this server.
  Remove: 0x540001,
  Cascade: 0x540002,
  ExpectedObjectType: 0x540003,
  // KMIP 3.0 (committee draft); `draft.ts` hides them from the other versions.
  CertificateLink: 0x420190,
  ChildLink: 0x420191,
  DerivationObjectLink: 0x420192,
  DerivedObjectLink: 0x420193,
  NextLink: 0x420194,
  ParentLink: 0x420195,
  PKCS_12CertificateLink: 0x420196,
  PKCS_12PasswordLink: 0x420197,
  PreviousLink: 0x420198,
  PrivateKeyLink: 0x420199,
  PublicKeyLink: 0x42019a,
  ReplacedObjectLink: 0x42019b,
  ReplacementObjectLink: 0x42019c,
  WrappingKeyLink: 0x42019d,
  ObjectClass: 0x42019e,
  ObjectClassMask: 0x42019f,
  CredentialLink: 0x4201a0,
  PasswordCredential: 0x4201a1,
  PasswordSalt: 0x4201a2,
  PasswordSaltAlgorithm: 0x4201a3,
  SaltedPassword: 0x4201a4,
  PasswordLink: 0x4201a5,
  DeviceCredential: 0x4201a6,
  OTPCredential: 0x4201a7,
  OTPAlgorithm: 0x4201a8,
  OTPDigest: 0x4201a9,
  OTPSerial: 0x4201aa,
  OTPSeed: 0x4201ab,
  OTPInterval: 0x4201ac,
  OTPDigits: 0x4201ad,
  OTPCounter: 0x4201ae,
  HashedPasswordCredential: 0x4201af,
  HashedUsernamePassword: 0x4201b0,
  HashedPasswordUsername: 0x4201b1,
  CredentialInformation: 0x4201b2,
  GroupLink: 0x4201b3,
  SplitKeyBaseLink: 0x4201b4,
  JoinedSplitKeyPartsLink: 0x4201b5,
  SplitKeyPolynomial: 0x4201b6,
  DeactivationMessage: 0x4201b7,
  DeactivationReason: 0x4201b8,
  DeactivationReasonCode: 0x4201b9,
  CertificateSubjectDN: 0x4201ba,
  CertificateIssuerDN: 0x4201bb,
  CertificateRequestLink: 0x4201bc,
  CertifyCounter: 0x4201bd,
  DecryptCounter: 0x4201be,
  EncryptCounter: 0x4201bf,
  SignCounter: 0x4201c0,
  SignatureVerifyCounter: 0x4201c1,
  NISTSecurityCategory: 0x4201c2,
}

/**
 * Values missing in the source tables, by enumeration. Numbers of KMIP 3.0 (committee draft) for ML-KEM, ML-DSA and
 * SLH-DSA, which every version accepts, and for its own words, which `draft.ts` hides from the other versions.
 */
export const addedValues: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  BlockCipherMode: { GCM_SIV: 0x80000002, LegacyNISTKeyWrap: 0x8000000d },
  CertificateType: { PKCS_7: 0x80000001 },
  CredentialType: { Password: 0x07, Certificate: 0x08 },
  DeactivationReasonCode: {
    Unspecified: 0x01,
    DeactivationDate: 0x02,
    ProtectStopDate: 0x03,
    UsageLimit: 0x04,
  },
  Ephemeral: { Data: 0x01, Empty: 0x02, UniqueIdentifier: 0x03 },
  ItemType: { Identifier: 0x0c, Reference: 0x0d, NameReference: 0x0e },
  ObjectClass: { User: 0x01, System: 0x02 },
  ObjectType: {
    User: 0x0b,
    Group: 0x0c,
    PasswordCredential: 0x0d,
    DeviceCredential: 0x0e,
    OneTimePasswordCredential: 0x0f,
    HashedPasswordCredential: 0x10,
  },
  Operation: {
    CreateGroup: 0x3c,
    Obliterate: 0x3d,
    CreateUser: 0x3e,
    CreateCredential: 0x3f,
    Deactivate: 0x40,
  },
  OTPAlgorithm: { HOTP: 0x01, TOTP: 0x02 },
  QueryFunction: { QueryCredentialInformation: 0x0f },
  ResultReason: { CircularLinkError: 0x4d },
  UniqueIdentifier: { ReProvision: 0x12, CreateUser: 0x13, CreateGroup: 0x14, CreateCredential: 0x15 },
  CryptographicAlgorithm: {
    ML_KEM_512: 0x39,
    ML_KEM_768: 0x3a,
    ML_KEM_1024: 0x3b,
    ML_DSA_44: 0x3c,
    ML_DSA_65: 0x3d,
    ML_DSA_87: 0x3e,
    SLH_DSA_SHA2_128s: 0x3f,
    SLH_DSA_SHA2_128f: 0x40,
    SLH_DSA_SHA2_192s: 0x41,
    SLH_DSA_SHA2_192f: 0x42,
    SLH_DSA_SHA2_256s: 0x43,
    SLH_DSA_SHA2_256f: 0x44,
    SLH_DSA_SHAKE_128s: 0x45,
    SLH_DSA_SHAKE_128f: 0x46,
    SLH_DSA_SHAKE_192s: 0x47,
    SLH_DSA_SHAKE_192f: 0x48,
    SLH_DSA_SHAKE_256s: 0x49,
    SLH_DSA_SHAKE_256f: 0x4a,
    FPE_FF1: 0x88800001,
    ConfigurableKEM: 0x88800003,
    CoverCrypt: 0x88800004,
    CoverCryptBulk: 0x88800005,
    X25519MLKEM768: 0x88800006,
    X448MLKEM1024: 0x88800007,
  },
  KeyFormatType: {
    // Forms of EC keys by their use, up to KMIP 1.4 (KMIP 1.2 §9.1.3.2.3); 2.0 has only TransparentEC….
    TransparentECDSAPrivateKey: 0x0e,
    TransparentECDSAPublicKey: 0x0f,
    TransparentECDHPrivateKey: 0x10,
    TransparentECDHPublicKey: 0x11,
    TransparentECMQVPrivateKey: 0x12,
    TransparentECMQVPublicKey: 0x13,
    PKCS_12Legacy: 0x88800001,
    PKCS_7: 0x88800002,
    ConfigurableKEMSecretKey: 0x88800003,
    ConfigurableKEMPublicKey: 0x88800004,
    CoverCryptSecretKey: 0x8880000c,
    CoverCryptPublicKey: 0x8880000d,
  },
  OpaqueDataType: { Unknown: 0x80000001, Vendor: 0x80123456 },
  RecommendedCurve: { CURVEED25519: 0x80000001, CURVEED448: 0x80000002 },
  PKCS_11ReturnCode: { OK: 0 },
}

/** Other accepted spellings, by enumeration: other spelling -> name in the table. */
export const aliases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  BlockCipherMode: { GCMSIV: 'GCM_SIV' },
  CryptographicAlgorithm: {
    '3DES': 'DES3',
    TDES: 'DES3',
    THREE_DES: 'DES3',
    TRIPLE_DES: 'DES3',
    ABE: 'CoverCrypt',
    SPEC: 'SEED',
    ELLIPTICCURVE: 'EC',
  },
  DerivationMethod: { NIST800_108_C: 'NIST800_108C' },
  KeyFormatType: {
    AbeMasterSecretKey: 'CoverCryptSecretKey',
    AbeMasterPublicKey: 'CoverCryptPublicKey',
    AbeUserDecryptionKey: 'CoverCryptSecretKey',
  },
  AlternativeNameType: { X500DirectoryName: 'X_500DistinguishedName' },
  MaskGenerator: { MFG1: 'MGF1' },
  PaddingMethod: {
    ANSI_X923: 'ANSIX9_23',
    X923: 'ANSIX9_23',
    PKCS1: 'PKCS1V1_5',
    PKCS1v15: 'PKCS1V1_5',
    ANSI_X931: 'X9_31',
  },
  RecommendedCurve: {
    SECP192R1: 'P_192',
    SECP224R1: 'P_224',
    SECP256R1: 'P_256',
    PRIME256V1: 'P_256',
    SECP384R1: 'P_384',
    SECP521R1: 'P_521',
    X25519: 'CURVE25519',
    X448: 'CURVE448',
    Ed25519: 'CURVEED25519',
    Ed448: 'CURVEED448',
  },
  ResultStatus: {
    Failed: 'OperationFailed',
    Pending: 'OperationPending',
    Undone: 'OperationUndone',
    Undo: 'OperationUndone',
  },
  ResultReason: { NotAuthorized: 'NotAuthorised' },
  RNGAlgorithm: { ANSI_X931: 'ANSIX9_31', ANSI_X962: 'ANSIX9_62' },
  SecretDataType: { Spec: 'Seed' },
  ObjectType: { PGP: 'PGPKey', CSR: 'CertificateRequest', Opaque: 'OpaqueObject' },
  WrappingMethod: { MACThenEncrypt: 'MACSignThenEncrypt' },
  StorageStatusMask: { OnLine: 'OnLineStorage', Archival: 'ArchivalStorage', Destroyed: 'DestroyedStorage' },
  CryptographicUsageMask: {
    ContentCommitment: 'ContentCommitmentNonRepudiation',
    NonRepudiation: 'ContentCommitmentNonRepudiation',
  },
}

/** Tags whose enumeration has another name. */
export const enumerationOfTag: Readonly<Record<string, string>> = {
  CertificateRequestUniqueIdentifier: 'UniqueIdentifier',
  ExpectedObjectType: 'ObjectType',
  ExtensionType: 'ItemType',
  LinkedObjectIdentifier: 'UniqueIdentifier',
  MaskGeneratorHashingAlgorithm: 'HashingAlgorithm',
  PrivateKeyUniqueIdentifier: 'UniqueIdentifier',
  PublicKeyUniqueIdentifier: 'UniqueIdentifier',
  ReplacedUniqueIdentifier: 'UniqueIdentifier',
}

/** Other accepted spellings of tags. */
export const tagAliases: Readonly<Record<string, string>> = {
  AttributeReferences: 'AttributeReference',
  ApplicationNamespaces: 'ApplicationNamespace',
  AttestationTypes: 'AttestationType',
  ObjectUniqueIdentifier: 'UniqueIdentifier',
  ProfilesInformation: 'ProfileInformation',
  ValidityTime: 'ValidityDate',
}

/** Enumerations of the source that repeat another one under a second name. */
export const duplicateEnumerations: readonly string[] = [
  'batcherrorcontinuation',
  'destroyactiontype',
  'objectgroupmemberoption',
  'profilenametype',
  'certificaterequest',
]

/** In these an underscore before a letter is part of the name (elsewhere the XML profile joins the words). */
export const keepsUnderscores = /^(HMAC_|RSASSA_|C_|ML_|SLH_|FPE_|GCM_)/
