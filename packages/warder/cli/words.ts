import { optionsOf, separator, takeFlag, takeOption, UsageError } from './command.ts'

/** Words of a verb, taken out one after the other; what is left at the end was not understood. */
export class Words {
  #rest: readonly string[]

  constructor(args: readonly string[]) {
    this.#rest = args
  }

  option(name: string): string | undefined {
    const { value, rest } = takeOption(this.#rest, name)
    this.#rest = rest
    return value
  }

  required(name: string): string {
    const value = this.option(name)
    if (value === undefined || value === '') throw new UsageError(`--${name} is missing`)
    return value
  }

  /** An option that may be given several times: `--role a --role b`. */
  every(name: string): readonly string[] {
    const values: string[] = []
    const rest: string[] = []
    const args = [...this.#rest]
    while (args.length > 0) {
      const arg = args.shift() ?? ''
      if (arg === separator) rest.push(arg, ...args.splice(0))
      else if (arg.startsWith(`--${name}=`)) values.push(arg.slice(name.length + 3))
      else if (arg !== `--${name}`) rest.push(arg)
      else {
        const value = args.shift()
        if (value === undefined) throw new UsageError(`--${name} needs a value`)
        values.push(value)
      }
    }
    this.#rest = rest
    return values
  }

  /** Whole seconds or a count, at least 0. */
  number(name: string): number | undefined {
    const text = this.option(name)
    if (text === undefined) return undefined
    if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} is a whole number, not '${text}'`)
    return Number(text)
  }

  flag(name: string): boolean {
    const { given, rest } = takeFlag(this.#rest, name)
    this.#rest = rest
    return given
  }

  /** The next word that is no option. Taken after the options; a lone `--` before it lets it begin with a dash. */
  name(what: string): string {
    const [first, ...rest] = this.names()
    if (first === undefined) throw new UsageError(`say which ${what}`)
    if (rest.length > 0) throw new UsageError(`unknown argument: ${rest[0]}`)
    return first
  }

  /** Every word that is left. */
  names(): readonly string[] {
    const unquoted = optionsOf(this.#rest)
    // A lone dash is a name: standard input.
    const unknown = unquoted.find((word) => word.startsWith('-') && word !== '-')
    if (unknown !== undefined) throw new UsageError(`unknown option: ${unknown}`)
    const words = [...unquoted, ...this.#rest.slice(unquoted.length + 1)]
    this.#rest = []
    return words
  }

  /** What has not been taken yet, as it was given. */
  left(): readonly string[] {
    return this.#rest
  }

  /** @throws UsageError when something was not understood */
  end(): void {
    const [first] = this.names()
    if (first !== undefined) throw new UsageError(`unknown argument: ${first}`)
  }
}
