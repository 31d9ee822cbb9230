// The launcher: under a Node that is too old it runs Warder on the pinned one and represents it until that ends. Plain
// JavaScript, for Node 20.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Runs `node` with the arguments of this process, forwards signals to it and ends with its exit code. The handlers also
 * make it fit to be process 1 of a container, to which the kernel delivers only signals that have one. Zombies need no
 * care: Warder's processes start no others that could outlive their parent, except at its death, which ends this one.
 * @param {string} node
 */
export function handOver(node) {
  const onWindows = process.platform === 'win32'
  const child = spawn(node, process.argv.slice(1), {
    // Over the channel Warder notices that this process has ended, however that happens: see ../service/stop-signals.ts.
    stdio: onWindows ? 'inherit' : ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, WARDER_NODE_HANDOVER: '1' },
    shell: onWindows,
  })
  for (const signal of forwarded) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    process.stderr.write(`warder: ${node} cannot be started: ${error.message}\n`)
    process.exit(1)
  })
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}
