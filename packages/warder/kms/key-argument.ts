import { UsageError } from '../cli/usage-error.ts'

/** Reads the id or alias (`alias/invoices`) of a key from an argument. @throws UsageError for an invalid one */
export function readKid(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UsageError(`'${text}' is not the id of a key: see warder keys list`)
  return text
}

/** `--key KEY` of verbs that use one key. */
export const keyOption = {
  type: 'text',
  value: 'KEY',
  required: 'name the key: --key KEY (see warder keys list)',
  help: 'id or alias of the key',
} as const
