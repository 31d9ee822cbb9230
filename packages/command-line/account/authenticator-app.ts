import { Refused } from '../login/exchange.ts'
import { formatQrCode } from '../terminal/qr-code.ts'
import { printable } from '../terminal/table.ts'
import type { Prompter } from '../terminal/user-terminal.ts'

/** A new TOTP secret, as the service returns it. */
export interface AppSecret {
  /** Key URI, for the QR code. */
  readonly url: string
  /** Base32. */
  readonly secret: string
  /** User of the secret, for the prompt. */
  readonly owner: string
}

interface AppTerminal {
  readonly prompter: Prompter
  /** Prints lines to standard error. */
  note(lines: readonly string[]): void
}

const maxTries = 3

/**
 * Shows a secret to an authenticator app, and confirms it with a code of the app.
 * @param confirm sends a code to the service @throws Refused with the status 400 for a code that does not match
 * @returns the reply of `confirm`
 */
export async function confirmApp<R>(
  { url, secret, owner }: AppSecret,
  { prompter, note }: AppTerminal,
  confirm: (code: string) => Promise<R>,
): Promise<R> {
  note([
    'Read this with an authenticator app:',
    '',
    ...((await formatQrCode(url)) ?? ['(the terminal is too narrow for the QR code)']),
    '',
    `or enter the secret: ${printable(secret.replaceAll(/(.{4})(?=.)/g, '$1 '))}`,
  ])
  for (let tries = 1; ; tries++) {
    const code = await prompter.ask(`Code of the app for ${owner}: `)
    try {
      return await confirm(code.replaceAll(/\s/g, ''))
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 400 || tries === maxTries) throw error
      note([`the code does not match: check the clock of the device (${maxTries - tries} more tries)`])
    }
  }
}
