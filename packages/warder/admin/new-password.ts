import { randomBytes } from 'node:crypto'
import { UsageError } from '../cli/command.ts'
import { readSecretFile } from '../cli/secret-file.ts'
import type { Words } from '../cli/words.ts'

/** The password that a user gets. `generated` ones are shown once, because nobody knows them yet. */
export interface NewPassword {
  readonly text: string
  readonly generated: boolean
}

/** Reads `--new-password-file FILE`; without it a random password of 144 bits is made. */
export function newPasswordFrom(words: Words): () => NewPassword {
  const file = words.option('new-password-file')
  if (file === '') throw new UsageError('--new-password-file needs a value')
  return () =>
    file === undefined
      ? { text: randomBytes(18).toString('base64url'), generated: true }
      : { text: readSecretFile(file), generated: false }
}
