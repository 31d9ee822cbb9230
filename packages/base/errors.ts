import { getFips } from 'node:crypto'
import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * An error with a code of a closed set, for programs, and a sentence, for users. Each kind of error is a
 * class of its own, so that it is caught by its class: `class PkiError extends CodedError<PkiErrorCode>`. It
 * is in this package because it is the only one that codecs import, and it imports no other: codecs contain
 * no I/O.
 */
export class CodedError<Code extends string> extends Error {
  readonly code: Code

  constructor(code: Code, sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.code = code
  }
}

/**
 * The closed registry of error kinds. Each row has the HTTP status and one safe sentence that callers receive.
 * Errors of no kind are `internal_error`.
 */
export interface ErrorKindRow {
  readonly status: number
  /** Default message for the caller. Holds no private detail. */
  readonly sentence: string
  /** true: the message is always this one, so that details cannot leak. */
  readonly fixed?: true
}

export const errorKinds = {
  bad_request: { status: 400, sentence: 'The request is malformed.' },
  unauthorized: {
    status: 401,

    sentence: 'Authentication is required or did not succeed.',
  },
  forbidden: { status: 403, sentence: 'Access denied.' },
  not_found: { status: 404, sentence: 'Not found.' },
  method_not_allowed: {
    status: 405,

    sentence: 'This path does not support that method.',
  },
  conflict: {
    status: 409,

    sentence: 'The object already exists, or another request changed it first.',
  },
  payload_too_large: {
    status: 413,

    sentence: 'The request body is too large.',
  },
  unsupported_media_type: {
    status: 415,

    sentence: 'The content type of the body is not supported.',
  },
  expectation_failed: {
    status: 417,
    sentence: 'Of the header Expect only 100-continue is supported.',
  },
  unsupported_algorithm: {
    status: 422,

    sentence: 'The algorithm is unknown or not supported.',
  },
  crypto_failure: {
    status: 422,

    sentence: 'The key cannot be used for this: wrong type, size, state or usage.',
  },
  decryption_failed: {
    status: 422,

    sentence: 'Decryption failed.',
    fixed: true,
  },
  rate_limited: {
    status: 429,

    sentence: 'Too many requests: wait and try again.',
  },
  request_timeout: {
    status: 408,

    sentence: 'The request took too long to arrive.',
  },
  headers_too_large: {
    status: 431,

    sentence: 'The request headers are too large.',
  },
  internal_error: {
    status: 500,

    sentence: 'An internal error occurred.',
    fixed: true,
  },
  not_implemented: {
    status: 501,
    sentence: 'This server does not implement that method.',
  },
  certificate_signing_unconfigured: {
    status: 500,

    sentence: 'Certificate signing is not configured on this server.',
    fixed: true,
  },
  bad_gateway: {
    status: 502,
    sentence: 'The upstream service did not respond: try again.',
  },
  overloaded: {
    status: 503,

    sentence: 'The server is busy: wait and try again.',
    fixed: true,
  },
  storage_unavailable: {
    status: 503,

    sentence: 'The database is unavailable: wait and try again.',
    fixed: true,
  },
  sealed: {
    status: 503,
    sentence:
      'The service is sealed: holders of shares of its root key must enter them first. GET /health shows the progress.',
    fixed: true,
  },
  hsm_unavailable: {
    status: 503,
    sentence: 'The HSM that has the key cannot be used now.',
  },
  auth_unavailable: {
    status: 503,
    sentence:
      'The authentication service does not respond: wait and try again. If that does not help, start it, or see the log of this service for the reason.',
    fixed: true,
  },
  audit_unavailable: {
    status: 503,

    sentence: 'The audit record cannot be written, so nothing was done.',
    fixed: true,
  },
} as const satisfies Record<string, ErrorKindRow>

export type ErrorKind = keyof typeof errorKinds

interface FailureOptions {
  /** Goes to the log with the request id; never leaves the process. */
  readonly detail?: string
  readonly cause?: unknown
  /** Whole seconds for `Retry-After` (429, 503). */
  readonly retryAfterSeconds?: number
  /** Extra members of the JSON error body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Extra response headers, e.g. `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The only error whose sentence is sent to callers. Thrown with a kind of the registry and one safe sentence. */
export class Failure extends Error {
  readonly kind: ErrorKind
  readonly status: number
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly members: Readonly<Record<string, unknown>> | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(kind: ErrorKind, sentence?: string, options: FailureOptions = {}) {
    const row: ErrorKindRow = errorKinds[kind]
    super(row.fixed === true || sentence === undefined ? row.sentence : sentence, { cause: options.cause })
    this.name = 'Failure'
    this.kind = kind
    this.status = row.status
    this.detail = options.detail ?? (row.fixed === true ? sentence : undefined)
    this.retryAfterSeconds = options.retryAfterSeconds
    this.members = options.members
    this.headers = options.headers
  }
}

/**
 * Makes a failure to throw: `throw failure('not_found', 'Key not found.')`.
 * For kinds with a fixed sentence the sentence given here is the private detail instead.
 */
export function failure(kind: ErrorKind, sentence?: string, options?: FailureOptions): Failure {
  return new Failure(kind, sentence, options)
}

const notInFips =
  "An algorithm of this request is not available in FIPS mode: OpenSSL's FIPS provider does not have it."
/** Errors of OpenSSL for algorithms, curves and sizes that its providers do not have. */
const missingCodes: readonly unknown[] = [
  'ERR_OSSL_EVP_UNSUPPORTED',
  'ERR_OSSL_EC_UNKNOWN_GROUP',
  'ERR_OSSL_RSA_INVALID_MODULUS',
]

/** Whether an error means that the FIPS provider does not support an algorithm that the settings permit. */
function isMissingInFips(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || getFips() !== 1) return false
  return missingCodes.includes((thrown as NodeJS.ErrnoException).code) || /:unsupported$/.test(thrown.message)
}

/**
 * Converts a thrown value to the failure that is sent to the caller: everything but a Failure becomes `internal_error`,
 * except algorithms that are missing in FIPS mode.
 */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  if (isMissingInFips(thrown))
    return new Failure('unsupported_algorithm', notInFips, { detail: String(thrown), cause: thrown })
  return new Failure('internal_error', undefined, {
    detail: thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown),
    cause: thrown,
  })
}

/** A start that cannot continue: one line on the terminal, exit code 1. Never sent over the network. */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}

/** Of SQLite, whose errors carry a number, not the name of the system's error. */
const [sqliteIoError, sqliteFull] = [10, 13]
/** SQLite reports an I/O error if the index of its log does not fit: less than this is free then. */
const indexBytes = 32 * 1024

/**
 * Says that a write failed for want of room, where, and how much there is: `no space is left on the disk of /srv/warder
 * (12 KiB free)`.
 * @param path file or folder that was written, absolute or from the working directory
 * @returns undefined when the error is about something else
 */
export function describeFullDisk(error: unknown, path: string): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  const folder = findExistingFolder(resolve(path))
  if (code === 'EDQUOT') return `the quota of this user on the disk of ${folder} is used up`
  if (code === 'EFBIG')
    return `a file in ${folder} would be larger than this process (ulimit -f) or the file system allows`
  const kind = typeof errcode === 'number' ? errcode & 0xff : undefined
  const { bytes, inodes } = readFreeSpace(folder)
  const isFull = code === 'ENOSPC' || kind === sqliteFull || (kind === sqliteIoError && bytes < indexBytes)
  if (!isFull) return undefined
  const room = inodes === 0 ? 'all its inodes are used' : `${Math.floor(bytes / 1024)} KiB free`
  return `no space is left on the disk of ${folder}${Number.isNaN(bytes) ? '' : ` (${room})`}`
}

/** The system's words for an error, or that the disk is full. */
export function describeWriteError(error: unknown, path: string): string {
  return describeFullDisk(error, path) ?? (error instanceof Error ? error.message : String(error))
}

function findExistingFolder(path: string): string {
  const folder = dirname(path)
  return folder === path || existsSync(folder) ? folder : findExistingFolder(folder)
}

/** Room on the disk of a folder, as far as it is known; for this user. */
function readFreeSpace(folder: string): { readonly bytes: number; readonly inodes: number | undefined } {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder)
    // Some file systems count no inodes.
    return { bytes: bavail * bsize, inodes: files > 0 ? ffree : undefined }
  } catch {
    return { bytes: Number.NaN, inodes: undefined }
  }
}

/** `; did you mean NAME?` for the name that a word was probably meant to be, else nothing. */
export function suggest(name: string, known: readonly string[], prefix = ''): string {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  if (best === undefined || best.distance > Math.max(2, name.length / 3)) return ''
  return `; did you mean ${prefix}${best.candidate}?`
}

/** Levenshtein distance; both texts are cut to 64 characters. */
function editDistance(left: string, right: string): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost))
    }
    row = next
  }
  return row[b.length] ?? 0
}
