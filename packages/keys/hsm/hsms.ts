import { failure } from '@warder/base'
import { type Token, TokenError, type TokenErrorCode } from '@warder/pkcs11'

/** Prefix of the identifiers of keys in an HSM, `hsm::NAME::LABEL`, as in the deployed servers. */
export const hsmPrefix = 'hsm::'

/** A token of an HSM whose keys are objects of this service. */
export interface Hsm {
  /** As in the identifiers of its keys; may contain `::`. */
  readonly name: string
  /** Users who may create and register keys in it; `*` = every user. */
  readonly admins: readonly string[]
  readonly token: Token
}

/** Objects whose material a key in an HSM wraps. */
export interface WrappingRule {
  /** Identifier of the key, `hsm::NAME::LABEL`. */
  readonly key: string
  /** The key of the object has one of these tags; empty: any or none. */
  readonly tags: readonly string[]
  /** The object belongs to one of these users; empty: to any. */
  readonly owners: readonly string[]
}

/** One use of a wrapping key by the service itself. */
export interface WrappingUse {
  readonly operation: 'wrap' | 'unwrap'
  /** The version of the wrapping key. */
  readonly key: string
  readonly object: string
  /** undefined: it succeeded. */
  readonly error: unknown
}

/** How the settings wrap material with keys in HSMs. */
export interface Wrapping {
  /** The first rule that covers an object applies. */
  readonly rules: readonly WrappingRule[]
  /** Records each use of a wrapping key. */
  record(use: WrappingUse): Promise<void>
}

/** The HSMs of the settings. */
export interface Hsms {
  readonly list: readonly Hsm[]
  readonly wrapping: Wrapping
  /** @throws failure('hsm_unavailable') for a name that the settings do not have any more */
  require(name: string): Hsm
}

const noWrapping: Wrapping = { rules: [], record: async () => undefined }

export function createHsms(list: readonly Hsm[], wrapping = noWrapping): Hsms {
  const byName = new Map(list.map((hsm) => [hsm.name, hsm]))
  return {
    list,
    wrapping,
    require(name) {
      const found = byName.get(name)
      if (found !== undefined) return found
      throw failure(
        'hsm_unavailable',
        `The settings of this server contain no HSM ${name}, which has the key.`,
      )
    },
  }
}

/** Maximum length of the label of a key in an HSM, in bytes of UTF-8. */
const maxLabelBytes = 128

/**
 * The HSM and the label in an identifier `hsm::NAME::LABEL`; undefined for identifiers without that prefix.
 * @throws failure('bad_request')
 */
export function parseHsmId(
  hsms: Hsms | undefined,
  id: string,
): { readonly hsm: Hsm; readonly label: string } | undefined {
  if (!id.startsWith(hsmPrefix)) return undefined
  const rest = id.slice(hsmPrefix.length)
  // The longest matching name, since `a` and `a::b` can both be names.
  const hsm = (hsms?.list ?? [])
    .filter(({ name }) => rest.startsWith(`${name}::`))
    .reduce<Hsm | undefined>(
      (best, one) => (best && best.name.length > one.name.length ? best : one),
      undefined,
    )
  if (hsm === undefined)
    throw failure(
      'bad_request',
      `No HSM is configured for this identifier: ${describeNames(hsms)}, and identifiers have the form hsm::NAME::LABEL.`,
    )
  const label = rest.slice(hsm.name.length + 2)
  if (label === '' || Buffer.byteLength(label) > maxLabelBytes)
    throw failure('bad_request', `The label of a key in an HSM has 1 to ${maxLabelBytes} bytes.`)
  return { hsm, label }
}

/** @throws failure('bad_request') */
export function requireHsm(hsms: Hsms | undefined, name: string): Hsm {
  const found = hsms?.list.find((hsm) => hsm.name === name)
  if (found === undefined)
    throw failure('bad_request', `hsm: no HSM is configured under this name: ${describeNames(hsms)}.`)
  return found
}

function describeNames(hsms: Hsms | undefined): string {
  const names = hsms?.list.map(({ name }) => name) ?? []
  return names.length === 0 ? 'the settings contain none' : `the settings contain ${names.join(', ')}`
}

/** @throws failure('forbidden') for a user who may not create or register keys in the HSM */
export function requireHsmAdmin({ name, admins }: Hsm, user: string): void {
  if (admins.includes('*') || admins.includes(user)) return
  throw failure('forbidden', `Only the administrators of the HSM ${name} may create or register keys in it.`)
}

/** Reasons for callers; the message of the token, with paths and return values, goes to the log. */
const reasons: Readonly<Partial<Record<TokenErrorCode, string>>> = {
  library_unusable: 'its library cannot be loaded',
  library_failed: 'its library failed, and is started again',
  token_not_found: 'its token is not present',
  token_unavailable: 'its token does not respond',
  login_refused: 'its PIN is refused',
  overloaded: 'too many requests wait for it',
}

const retrySeconds = 2

/**
 * Converts an error of a token to the failure for the caller: 503 with the reason if the HSM cannot be used, else 422.
 */
export function toHsmFailure(name: string, error: unknown): unknown {
  if (!(error instanceof TokenError)) return error
  const { code, message } = error
  switch (code) {
    case 'not_supported':
      return failure(
        'unsupported_algorithm',
        `The HSM ${name} does not support this operation for the key.`,
        {
          detail: message,
          cause: error,
        },
      )
    case 'key_not_found':
      return failure(
        'crypto_failure',
        `The HSM ${name} does not have the key: it was deleted there, or the token is another one.`,
        { detail: message, cause: error },
      )
    case 'key_ambiguous':
      return failure('crypto_failure', `The HSM ${name} has several keys with this label and CKA_ID.`, {
        detail: message,
        cause: error,
      })
    case 'key_exists':
      return failure(
        'conflict',
        `The HSM ${name} has a key with this label: register it, or choose another label.`,
        { detail: message, cause: error },
      )
    case 'invalid_data':
      return failure('crypto_failure', `The HSM ${name} refuses the data.`, { detail: message, cause: error })
    default: {
      const reason = reasons[code] ?? 'it reports an error'
      const whom = code === 'overloaded' ? 'try again later' : 'the log of the server has the details'
      return failure('hsm_unavailable', `The HSM ${name} cannot be used: ${reason}; ${whom}.`, {
        detail: message,
        cause: error,
        retryAfterSeconds: retrySeconds,
      })
    }
  }
}

/** @throws Failure in place of a TokenError */
export async function onHsm<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toHsmFailure(name, error)
  }
}
