import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { type PemLabel, pemText } from '@warder/pki'
import { toFileRefused } from './refused.ts'

/** Reads a secret from a file, without a line end at its end. @throws StartupError */
export function readSecretFile(file: string, what = 'the password'): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw toFileRefused(error, file === '-' ? 'standard input' : file)
  }
  const secret = text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
  if (secret === '' || /[\r\n]/.test(secret)) {
    const source = file === '-' ? 'standard input' : file
    throw new StartupError(`${source}: must contain exactly one line, ${what}`)
  }
  return secret
}

/** Reads a token from a file. @throws StartupError for characters that a header cannot contain */
export function readTokenFile(file: string): string {
  const token = readSecretFile(file, 'the token').trim()
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new StartupError(
      `${file === '-' ? 'standard input' : file}: contains characters that a token cannot have`,
    )
  return token
}

/** Reads a PEM or DER file. @returns PEM @throws StartupError */
export function readPemFile(file: string, label: PemLabel): string {
  try {
    return pemText(readFileSync(file), label)
  } catch (error) {
    throw toFileRefused(error, file)
  }
}
