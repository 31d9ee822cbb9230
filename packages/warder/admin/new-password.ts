import { randomBytes } from 'node:crypto'
import { UsageError, type ValuesOf } from '@warder/command-line'
import { readSecretFile } from '@warder/command-line/files'

/** A new password of a user. A generated one is shown once, because no user knows it yet. */
export interface NewPassword {
  readonly text: string
  readonly generated: boolean
}

/** Options of verbs that set the password of a user. */
export const passwordOptions = {
  'new-password-file': {
    type: 'text',
    value: 'F',
    help: 'file with the new password; without it the password is random and shown once',
  },
  'keep-password': { type: 'flag', help: 'does not require another password at the next login' },
} as const

/** Reads `--new-password-file FILE`; without it a random password of 144 bits is made. */
export function createPasswordSource({
  'new-password-file': file,
}: ValuesOf<typeof passwordOptions>): () => NewPassword {
  if (file === '') throw new UsageError('--new-password-file needs a value')
  return () =>
    file === undefined
      ? { text: randomBytes(18).toString('base64url'), generated: true }
      : { text: readSecretFile(file), generated: false }
}
