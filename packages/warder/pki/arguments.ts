import { UsageError } from '../cli/command.ts'
import { toFileRefused } from '../cli/refused.ts'
import { writeAtomically } from '../crypto-files/atomic-file.ts'

/** The id of an authority or a certificate as somebody typed it. @throws UsageError for what can be none */
export function readId(text: string): string {
  if (/^\.{0,2}$/.test(text))
    throw new UsageError(`'${text}' is not an id: see warder pki authorities and warder pki list`)
  return text
}

/** `--out FILE` of verbs that make a certificate. */
export const outOption = {
  type: 'text',
  value: 'FILE',
  help: 'writes the certificate and those above it there, in PEM',
} as const

/** Writes certificates to a file that was asked for. @throws StartupError */
export async function savePem(file: string | undefined, pem: string): Promise<void> {
  if (file === undefined) return
  try {
    await writeAtomically(file, { overwrite: false }, (out) => out.writeFile(pem))
  } catch (error) {
    throw toFileRefused(error)
  }
}
