/** Called wrongly: one line, then where the help is; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The verb whose help tells more. */
  readonly verb: string | undefined

  constructor(message: string, options: { readonly verb?: string; readonly cause?: unknown } = {}) {
    super(message, options)
    this.verb = options.verb
  }
}
