import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'

/** A secret from a file; one line end at its end belongs to the file, not to the secret. @throws StartupError */
export function readSecretFile(file: string, what = 'the password'): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '' || /[\r\n]/.test(secret)) {
    const source = file === '-' ? 'standard input' : file
    throw new StartupError(`${source}: must hold one line, ${what}`)
  }
  return secret
}
