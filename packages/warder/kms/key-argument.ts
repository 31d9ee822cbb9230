import { UsageError } from '../cli/command.ts'

/** The id of a key, or its alias (`alias/invoices`), as somebody typed it. @throws UsageError for what can be none */
export function readKid(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UsageError(`'${text}' is not the id of a key: see warder keys list`)
  return text
}

/** `--key KEY` of verbs that use one key. */
export const keyOption = {
  type: 'text',
  value: 'KEY',
  required: 'say which key: --key KEY (see warder keys list)',
  help: 'the key, by its id or alias',
} as const
