import { type BlockPadding, families, joseGcm, paddings } from '../algorithms/ciphers.ts'
import { notSupported, refuse } from '../algorithms/failure.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from '../algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from '../algorithms/policy.ts'

/** How a symmetric cipher works: by whole blocks with padding, as a stream, with a tag, or in one go over all data. */
export type CipherKind = 'block' | 'stream' | 'aead' | 'whole'

/** An algorithm, a key size and CryptographicParameters, brought together: everything but key, IV and data. */
export interface CipherPlan {
  /** OpenSSL's name. */
  readonly cipher: string
  readonly kind: CipherKind
  readonly mode:
    | 'ECB'
    | 'CBC'
    | 'CTR'
    | 'CFB'
    | 'OFB'
    | 'GCM'
    | 'GCM_SIV'
    | 'CCM'
    | 'XTS'
    | 'KW'
    | 'KWP'
    | 'CHACHA20'
    | 'POLY1305'
  /** Bytes of a block. */
  readonly block: number
  readonly padding: BlockPadding
  /** Minimum and maximum length of an IV from a client, in bytes; [0, 0] = the mode has none. */
  readonly iv: readonly [number, number]
  /** Bytes of an IV that is made here. */
  readonly freshIv: number
  /** Bytes; 0 = no tag. */
  readonly tag: number
  readonly parameters: CryptographicParameters
}

/** JOSE name (RFC 7518 §4.4, §5.3: tags have 128 bits). */
export function joseCipher(
  algorithm: string,
  keyBytes: number,
  { mode, tag }: CipherPlan,
): readonly string[] {
  if (mode === 'KW') return algorithm === 'AES' ? [`A${keyBytes * 8}KW`] : []
  const jose = mode === 'GCM' && tag === joseTagBytes ? joseGcm(algorithm, keyBytes) : undefined
  return jose === undefined ? [] : [jose]
}

export const joseTagBytes = 16

const common = ['blockCipherMode', 'cryptographicAlgorithm'] as const
const ivNames = ['randomIV', 'ivLength'] as const
const blockNames: ReadonlySet<ParameterName> = new Set([...common, ...ivNames, 'paddingMethod'])
const ecbNames: ReadonlySet<ParameterName> = new Set([...common, 'paddingMethod'])
const streamNames: ReadonlySet<ParameterName> = new Set([...common, ...ivNames])
const counterNames: ReadonlySet<ParameterName> = new Set([
  ...streamNames,
  'counterLength',
  'initialCounterValue',
])
const aeadNames: ReadonlySet<ParameterName> = new Set([
  ...streamNames,
  'tagLength',
  'fixedFieldLength',
  'invocationFieldLength',
])
const wrapNames: ReadonlySet<ParameterName> = new Set(common)

/**
 * Chooses the cipher. Without a mode AES is GCM (as the deployed servers do), 3DES is CBC, the others CBC.
 * @param keyBytes the length of the key
 * @throws CryptoFailure unsupported, bad_parameters, tag_length
 */
export function planCipher(
  algorithm: string,
  keyBytes: number,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): CipherPlan {
  const plan = choosePlan(algorithm, keyBytes, parameters, policy)
  permit(policy, () => ({
    algorithms: algorithm === 'DES3' ? ['DES3', '3DES'] : algorithm,
    ...(plan.block === 16 && { block_cipher_modes: blockModeNames(plan) }),
    ...(plan.kind === 'block' && { padding_methods: plan.padding }),
    ...(algorithm === 'AES' && { aes_key_sizes: String((keyBytes * 8) / (plan.mode === 'XTS' ? 2 : 1)) }),
  }))
  return plan
}

function blockModeNames({ mode }: CipherPlan): string {
  return mode === 'KW' ? 'NISTKeyWrap' : mode === 'KWP' ? 'AESKeyWrapPadding' : mode
}

function choosePlan(
  algorithm: string,
  keyBytes: number,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): CipherPlan {
  const named = parameters.cryptographicAlgorithm
  if (named !== undefined && named !== algorithm)
    throw refuse('bad_parameters', `The key is not a key of ${named}.`)
  if (algorithm === 'ChaCha20' || algorithm === 'ChaCha20Poly1305')
    return planChaCha(algorithm, keyBytes, parameters, policy)
  const family = families[algorithm]
  if (family === undefined) throw notSupported(`Encryption with ${algorithm} is not supported.`)
  if (!family.fips) requireOutsideFips(policy, algorithm)
  const prefix = family.prefix[keyBytes]
  if (prefix === undefined) throw refuse('wrong_key', `The size of the key is not allowed for ${algorithm}.`)
  const mode = parameters.blockCipherMode ?? (algorithm === 'AES' ? 'GCM' : 'CBC')
  const modeName = mode === 'AEAD' && family.modes.has('GCM') ? 'GCM' : mode
  if (!family.modes.has(modeName))
    throw notSupported(`BlockCipherMode ${mode} is not supported for ${algorithm}.`)
  const cipher = { algorithm, prefix, block: family.block, mode, parameters }
  switch (modeName) {
    case 'ECB':
    case 'CBC':
      return planBlockMode(cipher, modeName)
    case 'CFB':
    case 'OFB':
    case 'CTR':
      return planStreamMode(cipher, modeName)
    case 'GCM':
    case 'GCM_SIV':
    case 'CCM':
      return planTaggedMode(cipher, modeName, policy)
    case 'XTS':
      return planXts(cipher, keyBytes)
    default:
      return planKeyWrap(cipher, modeName)
  }
}

/** A block cipher and a mode that it has. */
interface BlockCipher {
  readonly algorithm: string
  /** OpenSSL's name of the algorithm with this key size. */
  readonly prefix: string
  /** Bytes. */
  readonly block: number
  /** As the parameters name it; without, the default. */
  readonly mode: string
  readonly parameters: CryptographicParameters
}

function planBlockMode(
  { algorithm, prefix, block, parameters }: BlockCipher,
  mode: 'ECB' | 'CBC',
): CipherPlan {
  const name = parameters.paddingMethod ?? (mode === 'ECB' ? 'None' : 'PKCS5')
  const padding = paddings.find((known) => known === name)
  if (padding === undefined) throw notSupported(`PaddingMethod ${name} is not supported for ${algorithm}.`)
  requireOnly(parameters, mode, mode === 'ECB' ? ecbNames : blockNames)
  requirePlain(prefix, algorithm)
  const bytes = mode === 'ECB' ? 0 : block
  requireIvLength(parameters, bytes, bytes)
  return {
    block,
    parameters,
    cipher: algorithm === 'DES3' && mode === 'ECB' ? `${prefix}-ecb` : `${prefix}-${mode.toLowerCase()}`,
    kind: 'block',
    mode,
    padding,
    iv: [bytes, bytes],
    freshIv: bytes,
    tag: 0,
  }
}

function planStreamMode(cipher: BlockCipher, mode: 'CFB' | 'OFB' | 'CTR'): CipherPlan {
  const { algorithm, prefix, block, parameters } = cipher
  requireUnpadded(cipher, mode, mode === 'CTR' ? counterNames : streamNames)
  requirePlain(prefix, algorithm)
  requireIvLength(parameters, 1, block)
  requireCounter(parameters)
  return {
    block,
    parameters,
    cipher: `${prefix}-${mode.toLowerCase()}`,
    kind: 'stream',
    mode,
    padding: 'None',
    iv: [mode === 'CTR' && parameters.initialCounterValue !== undefined ? 1 : block, block],
    freshIv: parameters.initialCounterValue === undefined ? block : block - counterBytes(parameters),
    tag: 0,
  }
}

/** Bytes of an IV, smallest and largest. */
const taggedIvs = { GCM: [1, 128], GCM_SIV: [12, 12], CCM: [7, 13] } as const

function planTaggedMode(
  cipher: BlockCipher,
  mode: 'GCM' | 'GCM_SIV' | 'CCM',
  policy: AlgorithmPolicy,
): CipherPlan {
  const { algorithm, prefix, block, parameters } = cipher
  requireUnpadded(cipher, cipher.mode, aeadNames)
  requirePlain(prefix, algorithm)
  if (mode === 'GCM_SIV') requireOutsideFips(policy, 'GCM-SIV')
  const iv = taggedIvs[mode]
  requireIvLength(parameters, iv[0], iv[1])
  return {
    block,
    parameters,
    cipher: `${prefix}-${mode === 'GCM_SIV' ? 'gcm-siv' : mode.toLowerCase()}`,
    kind: mode === 'GCM' ? 'aead' : 'whole',
    mode,
    padding: 'None',
    iv,
    freshIv: freshIvLength(parameters, iv),
    tag: tagLength(parameters, mode),
  }
}

function planXts(cipher: BlockCipher, keyBytes: number): CipherPlan {
  const { block, parameters } = cipher
  requireUnpadded(cipher, 'XTS', streamNames)
  if (keyBytes !== 32 && keyBytes !== 64)
    throw refuse('wrong_key', 'The size of the key is not allowed for AES-XTS.')
  requireIvLength(parameters, 16, 16)
  return {
    block,
    parameters,
    cipher: keyBytes === 32 ? 'aes-128-xts' : 'aes-256-xts',
    kind: 'whole',
    mode: 'XTS',
    padding: 'None',
    iv: [16, 16],
    freshIv: 16,
    tag: 0,
  }
}

/** The remaining AES modes: RFC 3394 and RFC 5649. */
function planKeyWrap(cipher: BlockCipher, mode: string): CipherPlan {
  const { algorithm, prefix, block, parameters } = cipher
  requireUnpadded(cipher, cipher.mode, wrapNames)
  requirePlain(prefix, algorithm)
  const wrap = mode === 'NISTKeyWrap'
  return {
    block,
    parameters,
    cipher: `${prefix}-wrap${wrap ? '' : '-pad'}`,
    kind: 'whole',
    mode: wrap ? 'KW' : 'KWP',
    padding: 'None',
    iv: [0, 0],
    freshIv: 0,
    tag: 0,
  }
}

function planChaCha(
  algorithm: 'ChaCha20' | 'ChaCha20Poly1305',
  keyBytes: number,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): CipherPlan {
  requireOutsideFips(policy, algorithm)
  if (keyBytes !== 32) throw refuse('wrong_key', `The size of the key is not allowed for ${algorithm}.`)
  const { blockCipherMode: mode } = parameters
  const base = { block: 64, padding: 'None', parameters } as const
  if (algorithm === 'ChaCha20') {
    requireOnly(parameters, algorithm, counterNames)
    if (mode !== undefined) throw notSupported(`BlockCipherMode ${mode} has no meaning for ChaCha20.`)
    requireIvLength(parameters, 8, 12)
    requireCounter(parameters)
    return {
      ...base,
      cipher: 'chacha20',
      kind: 'stream',
      mode: 'CHACHA20',
      iv: [8, 12],
      freshIv: (parameters.ivLength ?? 96) / 8,
      tag: 0,
    }
  }
  requireOnly(parameters, algorithm, aeadNames)
  if (mode !== undefined && mode !== 'AEAD')
    throw notSupported(`BlockCipherMode ${mode} has no meaning for ChaCha20Poly1305.`)
  requireIvLength(parameters, 12, 12)
  return {
    ...base,
    cipher: 'chacha20-poly1305',
    kind: 'aead',
    mode: 'POLY1305',
    iv: [12, 12],
    freshIv: freshIvLength(parameters, [12, 12]),
    tag: tagLength(parameters, 'POLY1305'),
  }
}

/** AES has 512-bit keys for XTS alone. */
function requirePlain(prefix: string, algorithm: string): void {
  if (prefix === '')
    throw refuse('wrong_key', `The size of the key is not allowed for ${algorithm} in this mode.`)
}

/** For modes that do not pad. */
function requireUnpadded(
  { mode, parameters }: BlockCipher,
  what: string,
  allowed: ReadonlySet<ParameterName>,
): void {
  const { paddingMethod } = parameters
  if (paddingMethod !== undefined && paddingMethod !== 'None')
    throw notSupported(`PaddingMethod ${paddingMethod} has no meaning for ${mode}.`)
  requireOnly(paddingMethod === undefined ? parameters : omitPadding(parameters), what, allowed)
}

function omitPadding({ paddingMethod: _, ...rest }: CryptographicParameters): CryptographicParameters {
  return rest
}

function requireIvLength({ ivLength }: CryptographicParameters, least: number, most: number): void {
  if (ivLength === undefined) return
  if (ivLength % 8 !== 0 || ivLength < least * 8 || ivLength > most * 8)
    throw refuse('bad_parameters', `IVLength must be ${range(least * 8, most * 8)} bits for this mode.`)
}

function range(least: number, most: number): string {
  return least === most ? String(least) : `${least} to ${most}`
}

function requireCounter({ counterLength, initialCounterValue }: CryptographicParameters): void {
  if (counterLength !== undefined && (counterLength % 8 !== 0 || counterLength < 8 || counterLength > 128))
    throw notSupported('CounterLength must be a multiple of 8 bits, at most 128.')
  if (
    initialCounterValue !== undefined &&
    counterLength !== undefined &&
    initialCounterValue >= 2 ** counterLength
  )
    throw refuse('bad_parameters', 'InitialCounterValue does not fit into CounterLength.')
}

/** Bytes of the counter in a counter block; 32 bits when CounterLength is not given. */
export function counterBytes({ counterLength }: CryptographicParameters): number {
  return (counterLength ?? 32) / 8
}

/**
 * Bytes of an IV that is made here. It is random as a whole (SP 800-38D §8.2.2), so FixedFieldLength and
 * InvocationFieldLength, the deterministic construction of §8.2.1, are for IVs that the client makes.
 */
function freshIvLength(
  { ivLength, fixedFieldLength, invocationFieldLength }: CryptographicParameters,
  [least, most]: readonly [number, number],
): number {
  if (fixedFieldLength !== undefined || invocationFieldLength !== undefined) return 0
  const bytes = (ivLength ?? 96) / 8
  return Math.min(Math.max(bytes, least), most)
}

/** Bytes of the tag: default 16, at least 12 (CCM 8: its lengths are even). */
function tagLength(
  { tagLength: asked }: CryptographicParameters,
  mode: 'GCM' | 'GCM_SIV' | 'CCM' | 'POLY1305',
): number {
  if (asked === undefined) return 16
  const least = mode === 'GCM_SIV' ? 16 : mode === 'CCM' ? 8 : 12
  if (asked < least || asked > 16 || (mode === 'CCM' && asked % 2 !== 0))
    throw refuse('tag_length', 'This tag length is not allowed for the mode.')
  return asked
}
