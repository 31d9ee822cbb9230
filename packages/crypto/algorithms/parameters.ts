import { notSupported } from './failure.ts'

/**
 * Parameters of the use of a key, as a front end passes them; absent members were not specified. Names of values are
 * those of the tables here (KMIP 2.1 §11); any other name is refused at its look-up.
 */
export interface CryptographicParameters {
  readonly blockCipherMode?: string
  readonly paddingMethod?: string
  readonly hashingAlgorithm?: string
  /** Describes the purpose of the key; has no effect on its use. */
  readonly keyRoleType?: string
  readonly digitalSignatureAlgorithm?: string
  readonly cryptographicAlgorithm?: string
  readonly randomIV?: boolean
  /** Bits. */
  readonly ivLength?: number
  /** Bytes. */
  readonly tagLength?: number
  /** Bits. */
  readonly fixedFieldLength?: number
  /** Bits. */
  readonly invocationFieldLength?: number
  /** Bits. */
  readonly counterLength?: number
  readonly initialCounterValue?: number
  /** Bytes. */
  readonly saltLength?: number
  readonly maskGenerator?: string
  readonly maskGeneratorHashingAlgorithm?: string
  /** The label of RSA-OAEP. */
  readonly pSource?: Uint8Array
  readonly trailerField?: number
}

export type ParameterName = keyof CryptographicParameters

export const noParameters: CryptographicParameters = Object.freeze({})

/**
 * Refuses by name parameters that the chosen algorithm does not use, so that no requested parameter is silently
 * ignored. KeyRoleType is always accepted.
 * @param what the algorithm, for the message: `RSA-OAEP`
 */
export function requireOnly(
  parameters: CryptographicParameters,
  what: string,
  allowed: ReadonlySet<ParameterName>,
): void {
  for (const name in parameters) {
    if (!allowed.has(name as ParameterName) && name !== 'keyRoleType')
      throw notSupported(`${spelling(name)} has no meaning for ${what}.`)
  }
}

/** The name in the standard's spelling. */
export function spelling(name: string): string {
  if (name === 'ivLength') return 'IVLength'
  return name.charAt(0).toUpperCase() + name.slice(1)
}
