import { UsageError } from '../cli/command.ts'
import { refusalOf } from '../cli/refused.ts'
import { writeWhole } from '../crypto-files/whole-file.ts'

/** The id of an authority or a certificate as somebody typed it. @throws UsageError for what can be none */
export function readWord(text: string): string {
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
    await writeWhole(file, { overwrite: false }, (out) => out.writeFile(pem))
  } catch (error) {
    throw refusalOf(error)
  }
}
