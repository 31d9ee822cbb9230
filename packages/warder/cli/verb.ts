import type { Options } from './options.ts'

/** One thing that a command does: how it is called, and its help. */
export interface Verb {
  /** One word or two: `tag add`. */
  readonly name: string
  /** Words after the name beside the options, as the help shows them. */
  readonly words: string
  /** How the options are shown behind the words, where a list of them would not do. */
  readonly usage?: string
  /** One line, for the list of verbs. */
  readonly summary: string
  /** The rest of its own help: what one has to know. */
  readonly about?: string
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[]
  readonly options: Options
}
