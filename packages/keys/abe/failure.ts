import { type ErrorKind, failure } from '@warder/base'
import { CovercryptError, type CovercryptErrorCode } from '@warder/covercrypt'

const kinds: Readonly<Record<CovercryptErrorCode, ErrorKind>> = {
  malformed: 'bad_request',
  invalid_policy: 'bad_request',
  invalid_structure: 'bad_request',
  unknown_attribute: 'bad_request',
  mixed_modes: 'bad_request',
  too_large: 'bad_request',
  disabled_attribute: 'crypto_failure',
  foreign_key: 'crypto_failure',
  cannot_open: 'decryption_failed',
}

/** Awaits work with attribute-based keys and converts its errors to failures of the registry. */
export async function inFailures<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw error instanceof CovercryptError ? failure(kinds[error.code], error.message) : error
  }
}
