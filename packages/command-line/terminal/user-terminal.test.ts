import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { formatTable, printable } from './table.ts'
import { NoAnswer, type TerminalInput, terminalPrompter } from './user-terminal.ts'

/** A terminal that a test types on; `raw` remembers how it was switched. */
function terminal() {
  const raw: boolean[] = []
  const input: TerminalInput & PassThrough = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => raw.push(on),
  })
  const output = new PassThrough()
  let written = ''
  output.on('data', (chunk) => {
    written += chunk
  })
  const shown = (): string => {
    const text = written
    written = ''
    return text
  }
  return { input, raw, shown, prompter: terminalPrompter(input, output) }
}

describe('questions at the terminal', () => {
  it('show what is typed, except secrets, and leave the terminal as it was', async () => {
    const { input, raw, shown, prompter } = terminal()
    const name = prompter.ask('Name: ')
    input.write('anm')
    input.write('\u007fn\r')
    assert.equal(await name, 'ann')
    assert.equal(shown(), 'Name: anm\b \bn\n')
    const secret = prompter.askSecret('Password: ')
    input.write('geheim\u007f\u007fm\u0007\n')
    assert.equal(await secret, 'gehem')
    assert.equal(shown(), 'Password: \n')
    assert.deepEqual(raw, [true, false, true, false])
    assert.equal(input.listenerCount('data') + input.listenerCount('end'), 0)
  })

  it('are shown once the terminal does not echo, so that a fast answer is not shown', async () => {
    const events: string[] = []
    const input: TerminalInput & PassThrough = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (on: boolean) => events.push(on ? 'raw' : 'echo'),
    })
    const output = new Writable({
      write(chunk, _encoding, done) {
        events.push(String(chunk))
        done()
      },
    })
    const secret = terminalPrompter(input, output).askSecret('Share: ')
    input.write('x\r')
    assert.equal(await secret, 'x')
    assert.deepEqual(events, ['raw', 'Share: ', 'echo', '\n'])
  })

  it('end without an answer at Ctrl-C, Ctrl-D and the end of the input', async () => {
    for (const last of ['\u0003', '\u0004', undefined]) {
      const { input, prompter } = terminal()
      const asked = prompter.askSecret('?')
      if (last === undefined) input.end()
      else input.write(`abc${last}`)
      await assert.rejects(asked, NoAnswer)
    }
  })

  it('are taken back when the command is interrupted, and leave the terminal as it was', async () => {
    const { input, raw, prompter } = terminal()
    const stop = new AbortController()
    const asked = prompter.askSecret('?', stop.signal)
    input.write('half a pass')
    stop.abort()
    await assert.rejects(asked, NoAnswer)
    assert.deepEqual(raw, [true, false])
    assert.equal(input.listenerCount('data') + input.listenerCount('end'), 0)
    await assert.rejects(prompter.ask('?', stop.signal), { name: 'AbortError' })
  })

  it('have a bound', async () => {
    const { input, prompter } = terminal()
    const asked = prompter.askSecret('?')
    input.write(`${'x'.repeat(10_000)}\n`)
    assert.equal((await asked).length, 4096)
  })

  it('are not asked if the input is not a terminal', () => {
    assert.equal(terminalPrompter(new PassThrough(), new PassThrough()).interactive, false)
  })
})

describe('tables', () => {
  it('are aligned, and let no name move the cursor', () => {
    assert.deepEqual(
      formatTable(
        ['A', 'LONG'],
        [
          ['ann', 'x'],
          ['b', ''],
        ],
        '-',
      ),
      ['A    LONG', 'ann  x', 'b'],
    )
    assert.deepEqual(formatTable(['A'], [], 'nothing'), ['nothing'])
    const evil = 'a\u001b[2Jb\u009b1m\u202ec\nd\u2028'
    assert.doesNotMatch(printable(evil), /[\p{Cc}\p{Cf}\p{Zl}]/u)
    assert.equal(printable('Zoë 李'), 'Zoë 李')
  })
})
