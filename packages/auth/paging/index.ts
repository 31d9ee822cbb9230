export { listReply } from './list-reply.ts'
export { type Page, PageQuery, readPage } from './page.ts'
