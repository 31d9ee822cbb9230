export { inHome, openHome, writeOnce } from './home.ts'
