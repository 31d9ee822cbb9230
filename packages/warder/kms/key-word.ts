import { UsageError } from '../cli/command.ts'
import type { Words } from '../cli/words.ts'

/** The id of a key as somebody typed it. @throws UsageError for what can be none */
export function readKid(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UsageError(`'${text}' is not the id of a key: see warder keys list`)
  return text
}

/** `--key KEY`. @throws UsageError when it is missing */
export function keyOption(words: Words): string {
  const text = words.option('key')
  if (text === undefined) throw new UsageError('say which key: --key KEY (see warder keys list)')
  return readKid(text)
}
