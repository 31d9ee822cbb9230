import { StorageUnavailable } from '../sql/errors.ts'
import type { Seal, SealContext } from './envelope.ts'

/** Seals a text that a client holds until it returns it: nothing is stored. @returns base64url */
export function sealText(seal: Pick<Seal, 'seal'>, context: SealContext, text: string): string {
  return Buffer.from(seal.seal(context, Buffer.from(text))).toString('base64url')
}

/**
 * Opens a text that a client returned.
 * @returns undefined when it was not sealed for this context
 * @throws StorageUnavailable when the data keys cannot be read
 */
export async function openText(
  seal: Pick<Seal, 'open'>,
  context: SealContext,
  sealed: string,
): Promise<string | undefined> {
  try {
    return Buffer.from(await seal.open(context, Buffer.from(sealed, 'base64url'))).toString('utf8')
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error
    return undefined
  }
}
