import type { ErrorShape, PublicError } from '@warder/server'
import Type from 'typebox'

/**
 * Statuses for clients of Vault: 400 for a wrong request, 403 for a missing right, 404 for missing objects.
 */
const statuses: Partial<Readonly<Record<PublicError['kind'], number>>> = {
  unauthorized: 403,
  forbidden: 403,
  conflict: 400,
  crypto_failure: 400,
  decryption_failed: 400,
  unsupported_algorithm: 400,
}

const keyNotFoundSentence = 'Key not found.'

export const transitErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({ errors: Type.Array(Type.String()) }),
  },
  reply(failed, request) {
    const { kind, status } = failed
    // Clients interpret 404 for a read of a key as an answer, and 400 for a use of a key as an error.
    if (kind === 'not_found' && failed.message === keyNotFoundSentence) {
      const reads = request.method === 'GET' || request.method === 'LIST'
      return reads
        ? { status: 404, json: { errors: [] } }
        : { status: 400, json: { errors: [formatSentence(failed)] } }
    }
    return { status: statuses[kind] ?? status, json: { errors: [formatSentence(failed)] } }
  },
}

/** The sentence of one failure, also of an item of a batch, in the words that clients search for. */
export function formatSentence({ kind, message }: Pick<PublicError, 'kind' | 'message'>): string {
  if (kind === 'unauthorized') return 'permission denied'
  if (kind === 'forbidden') return `1 error occurred:\n\t* permission denied\n\n`
  if (kind === 'not_found' && message === keyNotFoundSentence) return 'encryption key not found'
  if (kind === 'decryption_failed') return 'cipher: message authentication failed'
  return message
}
