import { UsageError } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { writeAtomically } from '../crypto-files/atomic-file.ts'

/** Reads the id of an authority or a certificate from an argument. @throws UsageError for an invalid one */
export function readId(text: string): string {
  if (/^\.{0,2}$/.test(text))
    throw new UsageError(`'${text}' is not an id: see warder pki authorities and warder pki list`)
  return text
}

/** `--out FILE` of verbs that make a certificate. */
export const outOption = {
  type: 'text',
  value: 'FILE',
  help: 'writes the certificate and its chain to this file, in PEM',
} as const

/** Writes certificates to a file, if one is given. @throws StartupError */
export async function savePem(file: string | undefined, pem: string): Promise<void> {
  if (file === undefined) return
  try {
    await writeAtomically(file, { overwrite: false }, (out) => out.writeFile(pem))
  } catch (error) {
    throw toFileRefused(error)
  }
}
