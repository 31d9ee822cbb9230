export { readWhole, TooLarge } from './read-whole.ts'
export { send } from './send.ts'
