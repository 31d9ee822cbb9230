/** Whether output may be coloured; set once at the start of the process. */
const allowed = { out: false, err: false }

interface Streams {
  readonly out: { readonly isTTY?: boolean }
  readonly err: { readonly isTTY?: boolean }
}

/** Permits colours on terminals, unless the user disables them: https://no-color.org, `TERM=dumb`. */
export function allowColour(env: Readonly<Record<string, string | undefined>>, { out, err }: Streams): void {
  const enabled = (env.NO_COLOR === undefined || env.NO_COLOR === '') && env.TERM !== 'dumb'
  allowed.out = enabled && out.isTTY === true
  allowed.err = enabled && err.isTTY === true
}

export function isColourAllowed(stream: 'out' | 'err'): boolean {
  return allowed[stream]
}

/** Styles a heading on standard output. */
export function styleHeading(text: string): string {
  return allowed.out ? `\u001b[1m${text}\u001b[22m` : text
}

/** Styles an error on standard error. */
export function styleError(text: string): string {
  return allowed.err ? `\u001b[31m${text}\u001b[39m` : text
}

/** Styles the first line of a help text, and lines like `Example:`, as headings. */
export function styleHelp(help: string): string {
  if (!allowed.out) return help
  return help
    .split('\n')
    .map((line, index) => (index === 0 || /^[A-Z][\w ]*:$/.test(line) ? styleHeading(line) : line))
    .join('\n')
}
