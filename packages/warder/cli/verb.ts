import type { Options } from './options.ts'

/** A verb of a command: its usage and help. */
export interface Verb {
  /** One word or two: `tag add`. */
  readonly name: string
  /** Operands after the name, as shown in the help. */
  readonly words: string
  /** Usage of the options, if a generated list does not suffice. */
  readonly usage?: string
  /** One line, for the list of verbs. */
  readonly summary: string
  /** Further help text. */
  readonly about?: string
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[]
  readonly options: Options
}
