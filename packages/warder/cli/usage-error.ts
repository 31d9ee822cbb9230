/** A usage error: one line and a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The verb whose help applies. */
  readonly verb: string | undefined

  constructor(message: string, options: { readonly verb?: string; readonly cause?: unknown } = {}) {
    super(message, options)
    this.verb = options.verb
  }
}
