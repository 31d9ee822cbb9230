import { ClientError, type Reply } from '@warder/client'
import { FileRefused } from '@warder/command-line/files'
import { withKeyErrors } from '@warder/command-line/kms'
import { readProtectedHeader, toWrappedKey, type WrappedKey } from '../crypto-files/wrapped-key.ts'

type Answer = Reply<'crypto.batch'>['results'][number]

/** A data key that is wrapped with the newest version of its key. */
interface RenewedKey {
  readonly wrapped: WrappedKey
  /** The version. */
  readonly kid: string
}

/**
 * Reads the reply of the service to `rewrap` of a wrapped data key.
 * @throws StartupError when the service refused; FileRefused for a reply with another algorithm
 */
export function readRenewedKey(before: WrappedKey, answer: Answer | undefined): Promise<RenewedKey> {
  const was = readProtectedHeader(before)
  return withKeyErrors('key', was.kid, async () => {
    if (answer === undefined) throw new FileRefused('the reply of the service does not contain this file')
    if ('error' in answer) {
      const { error: kind, description, status } = answer
      throw new ClientError({ kind, description, status })
    }
    const wrapped = toWrappedKey(answer.result)
    const is = readProtectedHeader(wrapped)
    if (is.alg !== was.alg || is.enc !== was.enc)
      throw new FileRefused('the service wrapped the data key with another algorithm')
    return { wrapped, kid: is.kid }
  })
}
